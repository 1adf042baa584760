package pprof

import "fmt"

// profile is a profile without its samples. Texts are numbers.
type profile struct {
	file      []byte
	types     []valueType
	mappings  map[uint64]mapping
	locations map[uint64]location
	lines     []line
	functions map[uint64]function
	texts     []text
	comments  []uint64
	time      int64 // ns since 1970
	duration  int64 // ns
	period    int64
	unit      valueType // of the period
}

type valueType struct{ name, unit uint64 }

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

// text is the place of a text in the file, and the text once it was needed.
type text struct {
	begin, end int32
	read       string
}

// sample is a call stack, the innermost location first, and its values.
type sample struct {
	locations, values []uint64
	labels            []label
}

type label struct{ key, text, number uint64 }

// Limits on a profile. Two bytes make an entry of a table, which takes many times that. No recording has more addresses
// than maxLocations.
const (
	maxSamples   = 1 << 20 // and more if they have minSample bytes on average
	minSample    = 16
	maxTypes     = 1 << 10
	maxMappings  = 1 << 17
	maxLocations = 1 << 20
	maxFunctions = 1 << 20
	maxLines     = 1 << 22
	maxInlined   = 1 << 16 // lines of a location
	maxTexts     = 1 << 22
	maxComments  = 1 << 16
	maxDepth     = 1 << 20 // of a call stack
	maxFrames    = 1 << 25 // of all call stacks
)

// parse reads a profile, unpacked, without its samples.
func parse(b []byte) (*profile, error) {
	p := &profile{file: b, mappings: make(map[uint64]mapping), locations: make(map[uint64]location),
		functions: make(map[uint64]function)}
	samples := 0
	err := each(b, 0, func(f *field) error {
		if f.isMessage() && !f.packed {
			return fmt.Errorf("byte %d: field %d does not belong to a profile", f.at, f.number)
		}
		if f.number == 2 {
			if samples++; samples > maxSamples+len(b)/minSample {
				return fmt.Errorf("byte %d: more than %d samples of less than %d bytes on average, as no profile has",
					f.at, maxSamples, minSample)
			}
			return nil
		}
		if err := p.field(f); err != nil {
			return err
		}
		return p.bounded(f.at)
	})
	return p, err
}

// isMessage reports whether a field of a profile is a message or a text.
func (f *field) isMessage() bool { return f.number >= 1 && f.number <= 6 || f.number == 11 }

// field takes a field that is not a sample.
func (p *profile) field(f *field) (err error) {
	switch f.number {
	case 1:
		var v valueType
		v, err = parseType(f)
		p.types = append(p.types, v)
	case 3:
		return p.mapping(f)
	case 4:
		return p.location(f)
	case 5:
		return p.function(f)
	case 6:
		p.texts = append(p.texts, text{begin: int32(f.at), end: int32(f.at + len(f.bytes))})
	case 9:
		p.time = int64(f.value)
	case 10:
		p.duration = int64(f.value)
	case 11:
		p.unit, err = parseType(f)
	case 12:
		p.period = int64(f.value)
	case 13:
		p.comments, err = f.numbers(p.comments, maxComments)
	}
	return err
}

// bounded checks that the tables are within their limits.
func (p *profile) bounded(at int) error {
	for _, t := range [...]struct {
		n, most int
		what    string
	}{
		{len(p.types), maxTypes, "types of values"}, {len(p.mappings), maxMappings, "mappings"}, {len(p.locations),
			maxLocations, "locations"},
		{len(p.lines), maxLines, "lines"}, {len(p.functions), maxFunctions, "functions"}, {len(p.texts), maxTexts,
			"texts"},
	} {
		if t.n > t.most {
			return fmt.Errorf("byte %d: more than %d %s", at, t.most, t.what)
		}
	}
	return nil
}

// text returns a text by its number; "" if there is none.
func (p *profile) text(n uint64) string {
	if n >= uint64(len(p.texts)) {
		return ""
	}
	t := &p.texts[n]
	if t.read == "" {
		t.read = string(p.file[t.begin:t.end])
	}
	return t.read
}

func parseType(f *field) (v valueType, err error) {
	err = f.numbersTo(&v.name, &v.unit)
	return v, err
}

// samples calls take with one sample after the other, in the same memory, and the byte at which each begins.
func (p *profile) samples(take func(s *sample, at int) error) error {
	var s sample
	frames := 0
	return each(p.file, 0, func(f *field) error {
		if f.number != 2 {
			return nil
		}
		s = sample{s.locations[:0], s.values[:0], s.labels[:0]}
		if err := s.read(f); err != nil {
			return err
		}
		if frames += len(s.locations); frames > maxFrames {
			return fmt.Errorf("byte %d: call stacks with more than %d locations", f.at, maxFrames)
		}
		return take(&s, f.at)
	})
}

func (s *sample) read(f *field) error {
	return each(f.bytes, f.at, func(f *field) (err error) {
		switch f.number {
		case 1:
			s.locations, err = f.numbers(s.locations, maxDepth)
		case 2:
			s.values, err = f.numbers(s.values, maxTypes)
		case 3:
			var l label
			err = f.numbersTo(&l.key, &l.text, &l.number)
			if l.number|l.text != 0 {
				s.labels = append(s.labels, l)
			}
		}
		return err
	})
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
			if p.lines = append(p.lines, v); err == nil && len(p.lines) > maxLines {
				err = p.bounded(f.at)
			}
			return err
		}
		return nil
	})
	l.linesN = len(p.lines)
	if err == nil && l.linesN-l.lines > maxInlined {
		err = fmt.Errorf("byte %d: more than %d lines of one location", f.at, maxInlined)
	}
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
