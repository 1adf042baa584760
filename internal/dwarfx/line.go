package dwarfx

import (
	"path"
	"sort"
)

// maxFiles limits the file and directory tables of one line program. The largest real ones have tens of thousands.
const maxFiles = 1 << 18

// lines is the header of a line program.
type lines struct {
	h        header // says how values are stored
	u        *unit
	dirs     []entry
	files    []entry
	minInst  uint64
	lineBase int8
	lineRng  uint8
	opBase   uint8
	opLens   []byte
	program  buf
	paths    map[uint64]string
}

// entry is a file or a directory.
type entry struct {
	v    uint64 // the name, encoded by its form
	dir  uint64
	form uint16
}

// parseLines reads the header of the unit's line program.
func (w *worker) parseLines(u *unit) (*lines, bool) {
	d := w.data
	r := at(d.s.Line, u.stmtList)
	l := &lines{u: u, h: header{addrSize: u.addrSize}, paths: map[uint64]string{}}
	length := uint64(r.u32())
	if length == 0xffffffff {
		length, l.h.is64 = r.u64(), true
	}
	if r.bad || length > uint64(r.left()) {
		return nil, false
	}
	r.b = r.b[:r.off+int(length)]
	l.h.version = r.u16()
	if l.h.version < 2 || l.h.version > 5 {
		return nil, false
	}
	if l.h.version >= 5 {
		l.h.addrSize = r.u8()
		r.u8() // segment selector size
	}
	size := r.offset(l.h.is64)
	if r.bad || size > uint64(r.left()) {
		return nil, false
	}
	l.program = buf{b: r.b, off: r.off + int(size)}
	r.b = r.b[:l.program.off]
	l.minInst = uint64(r.u8())
	if l.h.version >= 4 {
		r.u8() // operations per instruction: more than one only on VLIW machines
	}
	r.u8() // default of is_stmt
	l.lineBase, l.lineRng, l.opBase = int8(r.u8()), r.u8(), r.u8()
	if l.lineRng == 0 || l.opBase == 0 {
		return nil, false
	}
	lens := r.off
	r.skip(uint64(l.opBase) - 1)
	if r.bad {
		return nil, false
	}
	l.opLens = r.b[lens:r.off]
	if l.h.version >= 5 {
		l.dirs = w.parseEntries(l, &r)
		l.files = w.parseEntries(l, &r)
	} else {
		w.parseOldEntries(l, &r)
	}
	return l, true // a damaged file table only costs file names
}

// parseOldEntries reads the directory and file tables of versions 2 to 4, whose first elements have index 1.
func (w *worker) parseOldEntries(l *lines, r *buf) {
	l.dirs, l.files = make([]entry, 1, 16), make([]entry, 1, 64)
	for len(l.dirs) < maxFiles && !r.bad {
		at := r.off
		if len(r.str()) == 0 {
			break
		}
		l.dirs = append(l.dirs, entry{form: formString, v: uint64(at)})
	}
	for len(l.files) < maxFiles && !r.bad {
		at := r.off
		if len(r.str()) == 0 {
			break
		}
		l.files = append(l.files, entry{form: formString, v: uint64(at), dir: r.uleb()})
		r.uleb() // time of modification
		r.uleb() // length
	}
	w.burn(len(l.dirs) + len(l.files))
}

// parseEntries reads one table of version 5, which describes its own format.
func (w *worker) parseEntries(l *lines, r *buf) []entry {
	type field struct {
		content uint64
		a       attr
	}
	fields := make([]field, r.u8())
	for i := range fields {
		fields[i].content = r.uleb()
		fields[i].a.form = uint16(min(r.uleb(), 0xffff))
	}
	n := r.uleb()
	if r.bad || n > maxFiles || n > uint64(r.left()) {
		r.fail()
		return nil
	}
	list := make([]entry, 0, min(n, 4096))
	for ; n > 0 && !r.bad; n-- {
		w.burn(1 + len(fields))
		var e entry
		for i := range fields {
			v, form := l.h.value(r, &fields[i].a)
			switch fields[i].content {
			case lnctPath:
				e.v, e.form = v, form
			case lnctDirectoryIndex:
				e.dir = v
			}
		}
		list = append(list, e)
	}
	return list
}

func (l *lines) str(d *Data, e entry) string {
	if e.form == formString {
		return string(stringAt(d.s.Line, e.v))
	}
	return string(d.str(l.u, e.form, e.v))
}

// file returns the path of a file as the debug information has it: absolute if the compiler's directory is known, not
// cleaned.
func (w *worker) file(l *lines, i uint64) string {
	if l == nil || i >= uint64(len(l.files)) || i == 0 && l.h.version < 5 {
		return ""
	}
	if p, ok := l.paths[i]; ok {
		return p
	}
	d, e := w.data, l.files[i]
	p := l.str(d, e)
	if p != "" && !path.IsAbs(p) {
		dir := ""
		if e.dir < uint64(len(l.dirs)) && (e.dir > 0 || l.h.version >= 5) {
			dir = l.str(d, l.dirs[e.dir])
		}
		if !path.IsAbs(dir) {
			dir = join(string(l.u.compDir), dir)
		}
		p = join(dir, p)
	}
	p = w.intern([]byte(p))
	l.paths[i] = p
	return p
}

func join(dir, name string) string {
	switch {
	case dir == "":
		return name
	case name == "":
		return dir
	case dir[len(dir)-1] == '/':
		return dir + name
	}
	return dir + "/" + name
}

// row is one row of the line table.
type row struct {
	addr uint64
	file uint64
	line uint64
}

// runLines runs the line program and stores file and line of every hit that a row covers.
func (w *worker) runLines(l *lines, hits []hit) {
	r := &l.program
	cur, prev := row{file: 1, line: 1}, row{}
	open := false // prev is a row of the current sequence
	next := 0     // the first hit at or after prev
	emit := func(end bool) {
		if open && cur.addr > prev.addr {
			for ; next < len(hits) && hits[next].addr < cur.addr; next++ {
				if h := &hits[next]; !h.hasLine {
					h.hasLine, h.file, h.line = true, prev.file, uint32(min(prev.line, 1<<32-1))
				}
			}
		}
		if !open || cur.addr < prev.addr {
			next = sort.Search(len(hits), func(i int) bool { return hits[i].addr >= cur.addr })
			if !open && !w.data.inCode(cur.addr) {
				next = len(hits) // the sequence belongs to a function that the linker dropped
			}
		}
		prev, open = cur, !end
		if end {
			cur = row{file: 1, line: 1}
		}
	}
	steps := 0
	for r.off < len(r.b) && !r.bad {
		if steps++; steps == 1<<16 {
			w.burn(steps)
			steps = 0
		}
		op := r.u8()
		if op >= l.opBase {
			adj := op - l.opBase
			cur.addr += uint64(adj/l.lineRng) * l.minInst
			cur.line += uint64(int64(l.lineBase) + int64(adj%l.lineRng))
			emit(false)
			continue
		}
		switch op {
		case 0:
			n := r.uleb()
			if n == 0 || n > uint64(r.left()) {
				return
			}
			end := r.off + int(n)
			switch sub := r.u8(); {
			case sub == lneEndSequence:
				emit(true)
			case sub == lneSetAddress && (n == 9 || n == 5 || n == 3):
				cur.addr = r.uint(int(n - 1))
			case sub == lneDefineFile && len(l.files) < maxFiles:
				at := r.off
				r.skipStr()
				l.files = append(l.files, entry{form: formString, v: uint64(at), dir: r.uleb()})
			}
			r.off = end
		case lnsCopy:
			emit(false)
		case lnsAdvancePC:
			cur.addr += r.uleb() * l.minInst
		case lnsAdvanceLine:
			cur.line += uint64(r.sleb())
		case lnsSetFile:
			cur.file = r.uleb()
		case lnsSetColumn:
			r.uleb()
		case lnsNegateStmt, lnsSetBasicBlock:
		case lnsConstAddPC:
			cur.addr += uint64((255-l.opBase)/l.lineRng) * l.minInst
		case lnsFixedAdvancePC:
			cur.addr += uint64(r.u16())
		default:
			for range l.opLens[op-1] {
				r.uleb()
			}
		}
	}
	w.burn(steps)
}
