package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// pprofSums are what viewers that add up by the functions' names understand of a profile, as Pyroscope does.
type pprofSums struct {
	Types    []string
	Comments []string
	Self     map[string][]int64 // by the innermost function
	Stacks   map[string][]int64 // by the functions from the outermost on, parted by semicolons
}

// message has the fields of a message of Protocol Buffers, in order: numbers, or bytes.
type message []struct {
	number protowire.Number
	value  uint64
	bytes  []byte
}

func readMessage(b []byte) (m message, err error) {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		var value uint64
		var text []byte
		switch typ {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		default:
			return nil, fmt.Errorf("field %d has the wire type %d", number, typ)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		m = append(m, struct {
			number protowire.Number
			value  uint64
			bytes  []byte
		}{number, value, text})
	}
	return m, nil
}

// messages are the messages in a repeated field.
func (m message) messages(number protowire.Number) (list []message, err error) {
	for _, f := range m {
		if f.number == number {
			one, err := readMessage(f.bytes)
			if err != nil {
				return nil, err
			}
			list = append(list, one)
		}
	}
	return list, nil
}

// number is a field's, 0 if it is not there.
func (m message) get(number protowire.Number) (v uint64) {
	for _, f := range m {
		if f.number == number {
			v = f.value
		}
	}
	return v
}

// numbers are those of a repeated field, packed or not.
func (m message) numbers(number protowire.Number) (list []uint64, err error) {
	for _, f := range m {
		switch {
		case f.number != number:
		case f.bytes == nil:
			list = append(list, f.value)
		default:
			for b := f.bytes; len(b) > 0; {
				v, n := protowire.ConsumeVarint(b)
				if n < 0 {
					return nil, protowire.ParseError(n)
				}
				list, b = append(list, v), b[n:]
			}
		}
	}
	return list, nil
}

// pprofProfile has the tables of a profile.
type pprofProfile struct {
	types, samples, mappings, locations, functions []message
	texts                                          []string
}

// readPprof holds a profile to the rules by which Parca takes one (its package normalizer): ids of mappings, functions
// and locations are 1, 2, 3 and so on, in their order, and what refers to something refers to what is there. It adds up
// as Pyroscope does.
func readPprof(b []byte) (any, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if b, err = io.ReadAll(z); err != nil {
		return nil, err
	}
	m, err := readMessage(b)
	if err != nil {
		return nil, err
	}
	p := &pprofProfile{}
	for number, to := range map[protowire.Number]*[]message{1: &p.types, 2: &p.samples, 3: &p.mappings, 4: &p.locations,
		5: &p.functions} {
		if *to, err = m.messages(number); err != nil {
			return nil, err
		}
	}
	for _, f := range m {
		if f.number == 6 {
			p.texts = append(p.texts, string(f.bytes))
		}
	}
	if len(p.texts) == 0 || p.texts[0] != "" {
		return nil, errors.New("the first text is not empty")
	}
	if err := p.tablesHold(m); err != nil {
		return nil, err
	}
	out := pprofSums{Self: map[string][]int64{}, Stacks: map[string][]int64{}}
	for _, t := range p.types {
		out.Types = append(out.Types, p.texts[t.get(1)])
	}
	comments, err := m.numbers(13)
	if err != nil {
		return nil, err
	}
	for _, c := range comments {
		out.Comments = append(out.Comments, p.texts[c])
	}
	for _, s := range p.samples {
		if err := p.add(&out, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tablesHold checks ids, and that texts and tables have what is referred to.
func (p *pprofProfile) tablesHold(m message) error {
	periods, err := m.messages(11)
	if err != nil {
		return err
	}
	for name, table := range map[string]struct {
		list  []message
		ids   bool
		texts []protowire.Number
	}{
		"type": {list: p.types, texts: []protowire.Number{1, 2}}, "period": {list: periods,
			texts: []protowire.Number{1, 2}},
		"mapping": {p.mappings, true, []protowire.Number{5, 6}}, "function": {p.functions, true,
			[]protowire.Number{2, 3, 4}}, "location": {p.locations, true, nil},
	} {
		for i, one := range table.list {
			if id := one.get(1); table.ids && id != uint64(i+1) {
				return fmt.Errorf("%s id is not sequential: %d after %d", name, id, i)
			}
			for _, n := range table.texts {
				if one.get(n) >= uint64(len(p.texts)) {
					return fmt.Errorf("%s %d: text %d of %d", name, i, one.get(n), len(p.texts))
				}
			}
		}
	}
	for _, l := range p.locations {
		if n := l.get(2); n > uint64(len(p.mappings)) {
			return fmt.Errorf("location %d: mapping %d of %d", l.get(1), n, len(p.mappings))
		}
		lines, err := l.messages(4)
		if err != nil {
			return err
		}
		if len(lines) == 0 {
			return fmt.Errorf("location %d has no function: Pyroscope drops it", l.get(1))
		}
		for _, line := range lines {
			if n := line.get(1); n == 0 || n > uint64(len(p.functions)) {
				return fmt.Errorf("location %d: function %d of %d", l.get(1), n, len(p.functions))
			}
		}
	}
	return nil
}

// add takes in a sample.
func (p *pprofProfile) add(out *pprofSums, s message) error {
	path, err := s.numbers(1)
	if err != nil {
		return err
	}
	values, err := s.numbers(2)
	if err != nil || len(values) != len(p.types) {
		return errors.Join(err, fmt.Errorf("a sample has %d values of %d types", len(values), len(p.types)))
	}
	labels, err := s.messages(3)
	if err != nil {
		return err
	}
	for _, l := range labels {
		if key := l.get(1); key == 0 || key >= uint64(len(p.texts)) || l.get(2) >= uint64(len(p.texts)) {
			return fmt.Errorf("the label %v", l)
		}
	}
	var names []string // from the outermost on
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == 0 || path[i] > uint64(len(p.locations)) {
			return fmt.Errorf("location %d of %d", path[i], len(p.locations))
		}
		lines, err := p.locations[path[i]-1].messages(4)
		if err != nil {
			return err
		}
		for k := len(lines) - 1; k >= 0; k-- {
			names = append(names, p.texts[p.functions[lines[k].get(1)-1].get(2)])
		}
	}
	if len(names) == 0 {
		return errors.New("a sample without functions")
	}
	count(out.Self, names[len(names)-1], values)
	if len(names) < 500 { // the torture's 5,000 would be much text
		count(out.Stacks, strings.Join(names, ";"), values)
	}
	return nil
}

func count(sums map[string][]int64, key string, values []uint64) {
	if sums[key] == nil {
		sums[key] = make([]int64, len(values))
	}
	for i, v := range values {
		sums[key][i] += int64(v)
	}
}
