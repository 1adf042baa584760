package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/escape"
)

// destination is where exports go: stdout, one file, or a file for each recording.
type destination struct {
	stdout    io.Writer // nil: to files
	file      string    // "": named after the recording, in dir
	dir       string
	extension string
	tell      io.Writer // gets the name of each file; nil: it was given
}

// destination says where to write, and holds that no two recordings go to one file.
func (e *exporter) destination(cmd *cobra.Command, inputs []string) (*destination, error) {
	d := &destination{extension: e.format.FileExtension(e.variant)}
	out := cmd.OutOrStdout()
	terminal := isTerminal(out)
	st, err := os.Stat(e.output)
	folder := err == nil && st.IsDir()
	switch {
	case e.output == "-" && e.format.Binary && terminal:
		return nil, usagef("%s: %s is binary and stdout a terminal; -o names a file", cmd.Name(), e.name)
	case e.output == "-" && len(inputs) > 1, e.output != "" && !folder && len(inputs) > 1:
		return nil, usagef("%s: -o %s: several recordings need a file each; -o may name a folder", cmd.Name(), e.output)
	case e.output == "-", e.output == "" && len(inputs) == 1 && !terminal:
		d.stdout = out
		return d, nil
	case e.output != "" && !folder:
		d.file = e.output
		return d, nil
	}
	d.dir, d.tell = e.output, cmd.ErrOrStderr()
	names := make(map[string]string)
	for _, path := range inputs {
		to := d.path(path)
		if other, taken := names[to]; taken {
			return nil, fmt.Errorf("%s and %s would both go to %s; export them one by one, with -o", other, path, to)
		}
		names[to] = path
	}
	return d, nil
}

// path is the file that a recording goes to.
func (d *destination) path(recording string) string {
	if d.file != "" {
		return d.file
	}
	return filepath.Join(d.dir, recordingName(recording)+d.extension)
}

// write hands a stream to fill, and puts a file in its place when all of it is written.
func (d *destination) write(recording string, fill func(io.Writer) error) error {
	if d.stdout != nil {
		return quietPipe(fillBuffered(d.stdout, fill))
	}
	path := d.path(recording)
	if sameFile(path, recording) {
		return fmt.Errorf("%s: is the recording itself; -o names another file", path)
	}
	if err := writeWhole(path, fill); err != nil {
		return err
	}
	if d.tell != nil {
		fmt.Fprintln(d.tell, escape.Terminal(path))
	}
	return nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
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

// writeWhole writes a file under another name first, so that under its own there is never half of one. Ctrl-C takes away what was
// written.
func writeWhole(path string, fill func(io.Writer) error) (err error) {
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

// onSignal calls clean before a signal ends the program, as that signal would have. The function that it returns ends that.
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
