package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// terminalSize returns the size of the terminal that w is; 0: it is none, or does not know.
func terminalSize(w io.Writer) (columns, rows int) {
	if f, ok := w.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ); err == nil {
			return int(size.Col), int(size.Row)
		}
	}
	return 0, 0
}

// outputWidth returns the columns of w if it is a terminal, else what COLUMNS says, else 0.
func outputWidth(w io.Writer) int {
	if columns, _ := terminalSize(w); columns > 0 {
		return columns
	}
	n, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	return max(n, 0)
}
