package launch

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/elfx"
)

// Obstacle is why a program can be run but not recorded.
type Obstacle struct {
	// Text is one line: what, why, what to do.
	Text string
	// Alone says that the children of the program can still be recorded.
	Alone bool
}

// Inspect looks for an obstacle in a program before it is run; nil: none is known. A script has those of its
// interpreter. Files that cannot be read have none: the recorder reports if the agent did not start.
func Inspect(file string) *Obstacle {
	seen := file
	for range 5 { // as many interpreters of interpreters as the kernel allows
		info, err := elfx.Inspect(file)
		if err != nil {
			return nil
		}
		if info.Script == "" {
			return judge(seen, file, info)
		}
		file = info.Script
		if filepath.Base(file) == "env" {
			return nil // env decides which program it starts
		}
	}
	return nil
}

func judge(name, file string, info elfx.Info) *Obstacle {
	if name != file {
		name += " (run by " + file + ")"
	}
	switch {
	case info.Class == 32:
		return &Obstacle{Alone: true, Text: fmt.Sprintf(
			"%s is a 32-bit program; heaptap records 64-bit ones only, so it runs unrecorded; build it "+
				"with -m64", name)}
	case info.Machine != elf.EM_X86_64:
		return &Obstacle{Alone: true, Text: fmt.Sprintf(
			"%s is a program for another processor (%v), so it runs unrecorded; heaptap records x86-64 programs",
			name, info.Machine)}
	case info.Static:
		return &Obstacle{Alone: true, Text: fmt.Sprintf(
			"%s is statically linked, so nothing can be loaded into it and it runs unrecorded; link it "+
				"dynamically", name)}
	case changesIdentity(file):
		return &Obstacle{Alone: true, Text: fmt.Sprintf(
			"%s is setuid, setgid or has file capabilities, so the loader ignores LD_PRELOAD and it runs "+
				"unrecorded; run heaptap as the user it becomes", name)}
	case info.Sanitizer != "":
		return &Obstacle{Text: fmt.Sprintf(
			"%s is built with %s, whose malloc must come first, so it runs unrecorded; build it without",
			name, info.Sanitizer)}
	case info.Malloc == elfx.MallocDynamic:
		return &Obstacle{Text: fmt.Sprintf(
			"%s has its own malloc%s, which comes before any preloaded one, so it runs unrecorded; build it without "+
				"that allocator", name, allocator(file))}
	}
	return nil
}

// allocator returns the name of the allocator that is built into a program, in parentheses; "": unknown.
func allocator(file string) string {
	f, err := elfx.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	if name, _ := f.Allocator(); name != "" {
		return " (" + name + ")"
	}
	return ""
}

// changesIdentity reports whether executing the file changes who the process is (AT_SECURE).
func changesIdentity(file string) bool {
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil {
		return false
	}
	var fs unix.Statfs_t
	if unix.Statfs(file, &fs) == nil && fs.Flags&unix.ST_NOSUID != 0 {
		return false
	}
	if st.Mode&unix.S_ISUID != 0 && int(st.Uid) != os.Getuid() {
		return true
	}
	// Without group execute permission the bit means something else (mandatory locking).
	if st.Mode&unix.S_ISGID != 0 && st.Mode&unix.S_IXGRP != 0 && int(st.Gid) != os.Getgid() {
		return true
	}
	if os.Getuid() == 0 {
		return false // root has the capabilities anyway
	}
	n, err := unix.Getxattr(file, "security.capability", nil)
	return err == nil && n > 0
}
