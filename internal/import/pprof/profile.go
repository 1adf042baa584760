package pprof

import "fmt"

// profile is what is read of a profile. Texts are told by their numbers.
type profile struct {
	types     []valueType
	samples   []sample
	numbers   []uint64 // of all samples: locations, then values
	labels    []label
	mappings  map[uint64]mapping
	locations map[uint64]location
	lines     []line
	functions map[uint64]function
	texts     []string
	comments  []uint64
	time      int64 // ns since 1970
	duration  int64 // ns
	period    int64
	unit      valueType // of the period
}

type valueType struct{ name, unit uint64 }

// sample is a call stack, the innermost location first, and values. Its numbers begin at begin, its values at values.
type sample struct {
	at                 int // byte of the file
	begin, values, end int
	labels, labelsEnd  int
}

type label struct{ key, text, number uint64 }

type mapping struct{ start, offset, file, build uint64 }

type location struct {
	mapping       uint64
	address       uint64
	lines, linesN int
}

type line struct {
	function uint64
	number   uint64
}

type function struct{ name, system, file uint64 }

// maxEntries is how many samples, locations and so on a profile may have, however short they are.
const maxEntries = 1 << 20

// parse reads a profile, unpacked.
func parse(b []byte) (*profile, error) {
	p := &profile{mappings: make(map[uint64]mapping), locations: make(map[uint64]location), functions: make(map[uint64]function)}
	entries := 0
	err := each(b, 0, func(f *field) error {
		if entries++; entries > maxEntries+len(b)/16 { // each of which takes more memory than bytes of the file
			return fmt.Errorf("byte %d: more than %d entries of less than 16 bytes on average, as no profile has", f.at, maxEntries)
		}
		switch f.number {
		case 1, 2, 3, 4, 5, 6, 11:
			if !f.packed {
				return fmt.Errorf("byte %d: field %d is not the profile's", f.at, f.number)
			}
		}
		switch f.number {
		case 1:
			v, err := parseType(f)
			p.types = append(p.types, v)
			return err
		case 2:
			return p.sample(f)
		case 3:
			return p.mapping(f)
		case 4:
			return p.location(f)
		case 5:
			return p.function(f)
		case 6:
			p.texts = append(p.texts, string(f.bytes))
		case 9:
			p.time = int64(f.value)
		case 10:
			p.duration = int64(f.value)
		case 11:
			var err error
			p.unit, err = parseType(f)
			return err
		case 12:
			p.period = int64(f.value)
		case 13:
			var err error
			p.comments, err = f.numbers(p.comments)
			return err
		}
		return nil
	})
	return p, err
}

// text returns a text by its number; "" if there is none.
func (p *profile) text(n uint64) string {
	if n >= uint64(len(p.texts)) {
		return ""
	}
	return p.texts[n]
}

func parseType(f *field) (v valueType, err error) {
	err = f.numbersTo(&v.name, &v.unit)
	return v, err
}

func (p *profile) sample(f *field) error {
	s := sample{at: f.at, begin: len(p.numbers), labels: len(p.labels)}
	var values []uint64
	err := each(f.bytes, f.at, func(f *field) (err error) {
		switch f.number {
		case 1:
			p.numbers, err = f.numbers(p.numbers)
		case 2:
			values, err = f.numbers(values)
		case 3:
			var l label
			err = f.numbersTo(&l.key, &l.text, &l.number)
			if l.number|l.text != 0 {
				p.labels = append(p.labels, l)
			}
		}
		return err
	})
	s.values = len(p.numbers)
	p.numbers = append(p.numbers, values...)
	s.end, s.labelsEnd = len(p.numbers), len(p.labels)
	p.samples = append(p.samples, s)
	return err
}

func (p *profile) mapping(f *field) error {
	var id, limit uint64
	var m mapping
	err := f.numbersTo(&id, &m.start, &limit, &m.offset, &m.file, &m.build)
	p.mappings[id] = m
	return err
}

func (p *profile) location(f *field) error {
	var id uint64
	l := location{lines: len(p.lines)}
	err := each(f.bytes, f.at, func(f *field) error {
		switch f.number {
		case 1:
			id = f.value
		case 2:
			l.mapping = f.value
		case 3:
			l.address = f.value
		case 4:
			var v line
			err := f.numbersTo(&v.function, &v.number)
			p.lines = append(p.lines, v)
			return err
		}
		return nil
	})
	l.linesN = len(p.lines)
	p.locations[id] = l
	return err
}

func (p *profile) function(f *field) error {
	var id uint64
	var v function
	err := f.numbersTo(&id, &v.name, &v.system, &v.file)
	p.functions[id] = v
	return err
}
