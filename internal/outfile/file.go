package outfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// SameFile reports whether two paths lead to one file.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func fillBuffered(w io.Writer, fill func(io.Writer) error) error {
	b := bufio.NewWriterSize(w, 1<<16)
	if err := fill(b); err != nil {
		return err
	}
	return b.Flush()
}

// File writes a file under another name first: under its own name there is never half of one. A signal that ends
// the program removes what was written.
func File(path string, fill func(io.Writer) error) (err error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() { // a pipe, a device
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(fillBuffered(f, fill), f.Close())
	}
	half := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), os.Getpid()))
	var making sync.Mutex // a signal comes before the file is made, or after
	defer onSignal(func() {
		making.Lock()
		os.Remove(half)
	})()
	making.Lock()
	f, err := os.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	making.Unlock()
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", path, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			os.Remove(half)
		}
	}()
	if err := errors.Join(fillBuffered(f, fill), f.Close()); err != nil {
		return err
	}
	return os.Rename(half, path)
}

// onSignal calls clean when a signal is about to end the program, and then lets the signal do so. stop ends that.
func onSignal(clean func()) (stop func()) {
	signals := slices.DeleteFunc([]os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	c, done := make(chan os.Signal, 1), make(chan struct{})
	if len(signals) > 0 { // of none, Notify would take all
		signal.Notify(c, signals...)
	}
	go func() {
		select {
		case s := <-c:
			clean()
			signal.Reset(signals...)
			_ = unix.Kill(unix.Getpid(), s.(syscall.Signal))
		case <-done:
		}
	}()
	return func() {
		signal.Stop(c)
		close(done)
	}
}

// Relative makes a path relative to the working directory if it lies in it.
func Relative(path string) string {
	dir, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
