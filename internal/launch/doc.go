// Package launch starts a target so that it cannot tell that heaptap is there, and a recorder so that neither can harm
// the other.
//
// Four processes take part:
//
//	run       what the user's shell started. It waits, and ends with the target's status.
//	target    run's child, in run's process group, with run's terminal, folder, descriptors, limits and signal mask.
//	recorder  a child of run in a session of its own. It outlives run if it must, and daemons that the target leaves.
//	witness   a child of run in its process group that does nothing but hold signals pending (see witness.go).
//
// Signals. What the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z) reaches the whole process group, and so the target, without
// run's help; what somebody sends to run's process id is meant for the target, and run passes it on. The witness tells
// the two apart. Run itself is ended by none of them: it ends when the target has. When the target stops, run stops by
// the same signal, so that the shell sees its job stopped.
//
// Data. Run and recorder talk in JSON lines over a socket pair (protocol.go), which arrive unless the other side has
// ended (outbox.go). The target knows nothing of it: it finds the run's folder in its environment, and the agent makes
// its spools there. If the recorder dies, the spools are still there.
//
// What never happens here: nothing of an event is known, nothing is written to the target's stdin or stdout, and
// nothing waits for ever for a process that does not answer.
package launch
