// Package run is the form of a run on disk: it writes runs and reads them.
//
// A run is one `heaptap run`: a process tree, kept and opened as one unit. A program is one executed image of a
// process, with its forked children apart: each has one recording (package recording). A run of one program is that
// recording's file. With a second program it becomes a folder of the same name. `heaptap pack` makes one file of a
// folder.
//
// Nothing in a folder is ever changed: files are appended to, and a recording is removed only after a copy of it is in
// the pack. So whoever reads while the recorder writes sees what was there a moment ago, and a recorder that is killed
// leaves a run that opens: what its index lacks is found by the recordings themselves.
//
// # Folder
//
//	run.json              what the run is: Info
//	index                 what its programs are, a line for each change
//	p/NN/PID-START.htap   recordings: NN is the process id modulo 256, START the program's start in ns since 1970, both
//	                      hexadecimal
//	small.pack            recordings of less than SmallSize bytes, once they are complete
//
// # Index
//
// A line is the CRC-32C of the rest as 8 hexadecimal digits, a space, a JSON object and a newline, at most 1 MiB. The
// objects, in which a reader skips fields that it does not know:
//
//	{"begin": Program}          the next program, numbered from 0
//	{"n": 3, "now": Program}    what has changed of program 3: fields that are missing stay
//	{"over": true}              all programs have ended and all is written; another line after it says otherwise
//
// A Program's "levels", of how its memory developed, are base64 of varints; see Levels.
//
// While the recorder lives, it holds a lock on the index (fcntl, F_OFD_SETLK), and readers take the lines up to the
// first one that is not whole. Without the lock, a line that is not whole, or a missing last line, is damage; then
// readers look at the pack and at the recordings, too.
//
// # Pack
//
//	0    8   magic: 89 48 52 55 4e 0d 0a 1a
//	8        entries, one after another, up to the end of the file
//
// An entry:
//
//	0    4   magic: 48 45 4e 54 ("HENT")
//	4    4   kind: 1 run, 2 program, 3 end
//	8    4   length of the description
//	12   4   CRC-32C of the description
//	16   8   length of the recording
//	24   4   0
//	28   4   CRC-32C of the 28 bytes before
//	32       description: a JSON object, Info of a run, Program of a program, {"programs": number} of an end
//	         recording: of a program, else nothing
//
// Numbers are little-endian. A recording has checksums of its own. small.pack has programs only. A run in one file is a
// pack that begins with the run and ends with an end.
package run
