package run

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
)

// Pack writes a run as one file, in which a reader finds what it finds in the folder. The file is new: an existing one
// is an error.
func Pack(from, to string) (err error) {
	r, err := Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(to)
		}
	}()
	out := bufio.NewWriterSize(f, 1<<20)
	if err := r.WritePacked(out); err != nil {
		return err
	}
	return out.Flush()
}

// WritePacked writes the run as one file.
func (r *Run) WritePacked(w io.Writer) error {
	if _, err := io.WriteString(w, packMagic); err != nil {
		return err
	}
	if r.info.Format == 0 {
		r.info.Format = format
	}
	head, err := encodeEntry(entryRun, &r.info, 0)
	if err == nil {
		_, err = w.Write(head)
	}
	if err != nil {
		return err
	}
	for i := range r.programs {
		if err := r.writeProgram(w, i); err != nil {
			return err
		}
	}
	end, err := encodeEntry(entryEnd, map[string]int{"programs": len(r.programs)}, 0)
	if err == nil {
		_, err = w.Write(end)
	}
	return err
}

// writeProgram writes the entry of a program.
func (r *Run) writeProgram(w io.Writer, i int) error {
	rec, err := r.OpenProgram(i)
	if err != nil {
		return err
	}
	defer rec.Close()
	p := r.programs[i]
	p.Packed = nil
	if p.Member == "" {
		p.Member = memberOf(&p, 0)
	}
	if p.Levels == nil && !p.Running() {
		p.Levels, _ = levelsOf(context.Background(), rec) // what cannot be read has none
	}
	content := rec.Content() // of a recording that is being written: what was there when it was opened
	head, err := encodeEntry(entryProgram, &p, content.Size())
	if err == nil {
		_, err = w.Write(head)
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(w, content)
	if err == nil && n < content.Size() {
		err = fmt.Errorf("%s: was cut while it was being read", rec.Name())
	}
	return err
}
