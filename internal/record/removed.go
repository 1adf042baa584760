package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"golang.org/x/sys/unix"
)

// Somebody may remove or replace a recording, or the folder that it is in, while it is being written. What is in it is
// not lost: the recorder has it open, and writes it anew.

// create makes the process's recording, in a new folder if the one that was there is gone.
func (p *process) create(desc event.Process, opts recording.Options) {
	p.out, p.err = recording.Create(p.path, desc, opts)
	if errors.Is(p.err, os.ErrNotExist) && p.w.run.hadOutput {
		path, err := p.elsewhere(func(path string) error {
			p.out, p.err = recording.Create(path, desc, opts)
			return p.err
		})
		if err == nil {
			p.w.run.report(Report{Kind: Note, PID: p.info.PID, Path: path, Text: fmt.Sprintf(
				"the folder %s was removed while programs were being recorded; the recording is %s",
				filepath.Dir(p.path), path)})
			p.path = path
		}
	}
	if p.err == nil {
		p.kept, _ = p.out.Reopen() // without it, nothing can be done
	}
}

// putBack makes sure that the recording, which is complete, is where its name says.
func (p *process) putBack() {
	if p.kept == nil {
		return
	}
	defer p.kept.Close()
	is, err := p.kept.Stat()
	if err != nil {
		return
	}
	if st, err := os.Stat(p.path); err == nil && os.SameFile(st, is) {
		return
	}
	path, err := p.elsewhere(func(path string) error { return copyTo(p.kept, path, is) })
	if err != nil {
		p.err = fmt.Errorf("%s was removed while it was being written, and cannot be written anew: %w", p.path, err)
		return
	}
	p.w.run.report(Report{Kind: Note, PID: p.info.PID, Path: path, Text: fmt.Sprintf(
		"%s was removed or replaced while it was being written; all that was recorded is in %s", p.path, path)})
	p.path = path
}

// elsewhere has a file made where the recording should be, in a folder that is made again if need be, or in another
// one.
func (p *process) elsewhere(create func(path string) error) (string, error) {
	dir, name := filepath.Split(p.path)
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		var path string
		if path, err = freeName(filepath.Join(dir, name)); err == nil {
			if err = create(path); err == nil {
				return path, nil
			}
		}
	}
	dir, err2 := os.MkdirTemp("", "heaptap-recordings-")
	if err2 == nil {
		path := filepath.Join(dir, name)
		if err2 = create(path); err2 == nil {
			return path, nil
		}
		_ = os.Remove(dir)
	}
	return "", errors.Join(err, err2)
}

// freeName returns a path, or that with a number before its ending, at which there is nothing.
func freeName(path string) (string, error) {
	stem, ending := strings.TrimSuffix(path, ".htap"), ""
	if stem != path {
		ending = ".htap"
	}
	for i := 2; i < 10000; i++ {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
		path = stem + "." + strconv.Itoa(i) + ending
	}
	return "", fmt.Errorf("all names up to %s are taken", path)
}

// copyTo copies a file, its holes as such.
func copyTo(from *os.File, path string, is os.FileInfo) (err error) {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, is.Mode().Perm())
	if err != nil {
		return err
	}
	defer func() {
		if e := to.Close(); err == nil {
			err = e
		}
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	for at := int64(0); at < is.Size(); {
		data, hole := at, is.Size()
		if d, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA); err == nil {
			data = d
			if h, err := unix.Seek(int(from.Fd()), data, unix.SEEK_HOLE); err == nil {
				hole = h
			}
		} else if err == unix.ENXIO {
			break // a hole up to the end
		}
		if _, err := to.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(to, io.NewSectionReader(from, data, hole-data)); err != nil {
			return err
		}
		at = hole
	}
	return to.Truncate(is.Size())
}
