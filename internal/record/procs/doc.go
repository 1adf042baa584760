// Package procs finds a run's processes and follows their lives, by what the kernel knows.
//
//   - A Life says whether a process that writes to a spool still runs the program that made it.
//   - The Census looks at all processes of the machine: who has a spool mapped, and who may be about to make one.
//   - The Family knows which processes the run's program has forked, directly or not.
//   - The Door gives spools to processes of the run that cannot make one themselves.
//
// The rule: nothing that a process says of itself is believed where another process could say the same. A process id
// counts only if it is known to mean the same process here, and of root's runs, only members of the family are part of
// the run.
package procs
