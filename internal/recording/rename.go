package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording/column"
)

// Names returns the new names for those in a recording.
type Names interface {
	Path(string) string // of a file: a program, a module, source, an input of a merged recording
	// Word is for a host, an argument, a value of the environment, a thread, a mark, a region, a pool, a range of
	// memory.
	Word(string) string
	Function(string) string // a function or a static variable
	Text(string) string     // a sentence, which may contain any of these
}

// Rename writes to path a recording that differs from r in its names only. Blocks without names are copied byte for
// byte, so numbers do not change. With an error, path is as it was.
func Rename(r *Reader, path string, names Names) error {
	switch {
	case r.Live():
		return fmt.Errorf("%s: is still being recorded; it must end first", r.name)
	case !r.Complete():
		return fmt.Errorf("%s: the recording is not whole: %s; heaptap repair makes a whole one of it", r.name,
			r.Damage()[0])
	}
	n := &renamer{r: r, Names: names}
	return replace(path, func(f file) error { return n.write(f, path) })
}

// renamer copies blocks.
type renamer struct {
	Names
	r   *Reader
	a   *appender
	buf []byte
}

func (n *renamer) write(f file, name string) (err error) {
	if n.a, err = newAppenderFlags(f, name, n.r.header.flags); err != nil {
		return err
	}
	header := n.r.header
	if _, err := f.WriteAt(header.encode(), 0); err != nil { // with the version of the blocks that are copied
		return err
	}
	for i := range n.r.blocks {
		e := &n.r.blocks[i]
		if e.typ == blockIndex {
			continue
		}
		if err := n.block(e); err != nil {
			return fmt.Errorf("%s: the block of %s at offset %d: %w", n.r.name, e.typ, e.offset, err)
		}
		last := &n.a.blocks[len(n.a.blocks)-1]
		last.head, last.sum = e.head, e.sum
	}
	return n.a.index()
}

func (n *renamer) block(e *indexEntry) error {
	switch e.typ {
	case blockProcess:
		return renameJSON(n, e, n.process)
	case blockEnding:
		return renameJSON(n, e, func(v *endingFile) {
			v.Status = n.Text(v.Status)
			each(v.Health.Notes, n.Text)
		})
	case blockThreads:
		return renameTable(n, e, &threadTable, func(t *entry[event.Thread]) { t.v.Name = n.Word(t.v.Name) })
	case blockModules:
		return renameTable(n, e, &moduleTable, func(m *event.Module) { m.Path = n.Path(m.Path) })
	case blockMarks:
		return renameTable(n, e, &markTable, func(m *event.Mark) {
			if m.Source != event.FromMode { // heaptap chose the names of those
				m.Name = n.Word(m.Name)
			}
		})
	case blockRegions:
		return renameTable(n, e, &regionTable, func(r *event.RegionNote) { r.Name = n.Word(r.Name) })
	case blockPools:
		return renameTable(n, e, &poolTable, func(p *event.Pool) { p.Name = n.Word(p.Name) })
	case blockResident:
		return renameTable(n, e, &residentTable, func(p *event.ResidentPart) { p.Name = n.Path(p.Name) })
	case blockRanges:
		return renameTable(n, e, &rangeTable, func(r *event.NamedRange) { r.Name = n.Word(r.Name) })
	case blockVariables:
		return renameTable(n, e, &variableTable, func(v *event.Variable) {
			v.Name, v.Linkage, v.File = n.Function(v.Name), n.Function(v.Linkage), n.Path(v.File)
		})
	case blockSymbols:
		return n.symbols(e)
	case blockCounts:
		return n.counts(e)
	case blockInputs:
		return n.inputs(e)
	case blockPCs, blockNodes, blockEvents, blockSamples, blockTally, blockSummary, blockFolded, blockDataSections,
		blockResidency, blockTimeline, blockSpreads, blockStackUse, blockPairs,
		blockFar, blockPages:
		return n.copy(e)
	}
	return errors.New("this heaptap does not know what names are in it: use a newer one")
}

func (n *renamer) process(p *event.Process) {
	p.Exe, p.Dir, p.Host = n.Path(p.Exe), n.Path(p.Dir), n.Word(p.Host)
	n.args(p.Args)
	each(p.Env, func(s string) string {
		name, value, _ := strings.Cut(s, "=")
		return name + "=" + n.Word(value)
	})
}

// args renames a command line: the program, and its arguments.
func (n *renamer) args(list []string) {
	if len(list) > 0 {
		list[0] = n.Path(list[0])
		each(list[1:], n.Word)
	}
}

func each(list []string, of func(string) string) {
	for i := range list {
		list[i] = of(list[i])
	}
}

// symbols renames functions and their files.
func (n *renamer) symbols(e *indexEntry) error {
	s, err := n.columns(e)
	if err != nil {
		return err
	}
	list, err := symbolTable.Decode(s, nil)
	if err != nil {
		return err
	}
	frames := make(map[uint32][]event.Frame) // each pc once
	for _, x := range list {
		for i := range x.v {
			f := &x.v[i]
			if pool, ok := f.Pool(); ok {
				*f = event.PoolFrame(n.Word(pool))
				continue
			}
			f.Function, f.Linkage, f.File = n.Function(f.Function), n.Function(f.Linkage), n.Path(f.File)
		}
		frames[x.id] = x.v
	}
	symbolTable.Encode(n.a.pay, symbolsOf(frames))
	return n.a.block(e.typ, n.a.pay.Bytes())
}

// counts renames the threads in the table of counts.
func (n *renamer) counts(e *indexEntry) error {
	s, err := n.columns(e)
	if err != nil {
		return err
	}
	c, err := decodeCounts(s)
	if err != nil {
		return err
	}
	for i := range c.Rows {
		c.Rows[i].Name = n.Word(c.Rows[i].Name)
	}
	encodeCounts(n.a.pay, c)
	return n.a.block(e.typ, n.a.pay.Bytes())
}

// inputs renames the recordings that were merged.
func (n *renamer) inputs(e *indexEntry) error {
	s, err := n.columns(e)
	if err != nil {
		return err
	}
	list, err := decodeInputs(s, nil)
	if err != nil {
		return err
	}
	for i := range list {
		x := &list[i]
		x.File, x.Exe, x.Host, x.Status = n.Path(x.File), n.Path(x.Exe), n.Word(x.Host), n.Text(x.Status)
		n.args(x.Args)
	}
	encodeInputs(n.a.pay, list)
	return n.a.block(e.typ, n.a.pay.Bytes())
}

func (n *renamer) columns(e *indexEntry) (*column.Set, error) {
	p, err := n.r.payload(e.header, nil)
	if err != nil {
		return nil, err
	}
	s := &column.Set{}
	return s, s.Parse(p)
}

func renameJSON[T any](n *renamer, e *indexEntry, rename func(*T)) error {
	p, err := n.r.payload(e.header, nil)
	if err != nil {
		return err
	}
	var v T
	if err := json.Unmarshal(p, &v); err != nil {
		return err
	}
	rename(&v)
	return n.a.json(e.typ, v)
}

func renameTable[T any](n *renamer, e *indexEntry, t *column.Table[T], rename func(*T)) error {
	s, err := n.columns(e)
	if err != nil {
		return err
	}
	list, err := t.Decode(s, nil)
	if err != nil {
		return err
	}
	for i := range list {
		rename(&list[i])
	}
	t.Encode(n.a.pay, list)
	return n.a.block(e.typ, n.a.pay.Bytes())
}

// copy copies a block. A folded one keeps its hole.
func (n *renamer) copy(e *indexEntry) error {
	if !n.r.events.folded(e) {
		p, err := n.r.payload(e.header, n.buf)
		if err != nil {
			return err
		}
		n.buf = p
		return n.a.block(e.typ, p)
	}
	a := n.a
	b := header{typ: e.typ, seq: a.seq, length: e.length, checksum: e.checksum, offset: a.end}
	if _, err := a.f.WriteAt(b.encode(nil), a.end); err != nil {
		return err
	}
	const page = 4096
	buf := make([]byte, page)
	for at := int64(0); at < int64(e.length); at += page {
		part := buf[:min(page, int64(e.length)-at)]
		if _, err := readFull(n.r.data, part, e.offset+headerLength+at); err != nil {
			return err
		}
		if bytes.Count(part, []byte{0}) == len(part) {
			continue
		}
		if _, err := a.f.WriteAt(part, a.end+headerLength+at); err != nil {
			return err
		}
	}
	a.blocks = append(a.blocks, indexEntry{header: b})
	a.end = b.end()
	a.seq++
	return nil
}
