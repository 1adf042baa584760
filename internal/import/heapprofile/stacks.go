package heapprofile

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
)

// Limits on a file. A short forged file may describe more than any program has, and each item takes memory.
const (
	maxAddresses = 1 << 20 // distinct
	maxFrames    = 1 << 24 // of all call stacks
	maxStacks    = 1 << 21
)

// stacks are the call stacks that were read. Addresses are numbered in the order of their first occurrence.
type stacks struct {
	addresses []uint64
	numbers   map[uint64]uint32
	frames    []uint32 // of all stacks
	list      []sample
}

// sample has the numbers of a call stack.
type sample struct {
	live, liveBlocks, bytes, allocations uint64

	end int // index after its last frame
}

// begin reads the addresses of a call stack, the innermost first.
func (s *stacks) begin(text string) error {
	for {
		field := strings.TrimLeft(text, " ")
		if field == "" {
			break
		}
		end := strings.IndexByte(field, ' ')
		if end < 0 {
			end = len(field)
		}
		digits, ok := strings.CutPrefix(field[:end], "0x")
		address, err := strconv.ParseUint(digits, 16, 64)
		if !ok || err != nil || len(field) == len(text) {
			return fmt.Errorf("%.40q is not an address", field[:end])
		}
		n, known := s.numbers[address]
		if !known {
			if len(s.addresses) == maxAddresses {
				return fmt.Errorf("more than %d different addresses", maxAddresses)
			}
			n = uint32(len(s.addresses))
			s.numbers[address] = n
			s.addresses = append(s.addresses, address)
		}
		s.frames = append(s.frames, n)
		text = field[end:]
	}
	if len(s.frames) > maxFrames {
		return fmt.Errorf("call stacks with more than %d frames", maxFrames)
	}
	return nil
}

// end adds the numbers of the current call stack.
func (s *stacks) end(v sample) error {
	if len(s.list) == maxStacks {
		return fmt.Errorf("more than %d call stacks", maxStacks)
	}
	v.end = len(s.frames)
	s.list = append(s.list, v)
	return nil
}

// all yields the call stacks with their numbers.
func (s *stacks) all() iter.Seq2[[]uint32, *sample] {
	return func(yield func([]uint32, *sample) bool) {
		begin := 0
		for i := range s.list {
			v := &s.list[i]
			if !yield(s.frames[begin:v.end], v) {
				return
			}
			begin = v.end
		}
	}
}

// fourNumbers cuts the numbers of a call stack off a text: live blocks and bytes, allocated ones in brackets.
func fourNumbers(text string) (n [4]string, rest string, ok bool) {
	for i, after := range [...]string{":", "", ":", "]"} {
		text = strings.TrimLeft(text, " ")
		if i == 2 {
			if text, ok = strings.CutPrefix(text, "["); !ok {
				return n, "", false
			}
			text = strings.TrimLeft(text, " ")
		}
		end := 0
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		n[i], text = text[:end], text[end:]
		if i == 3 {
			text = strings.TrimLeft(text, " ")
		}
		if text, ok = strings.CutPrefix(text, after); !ok || end == 0 {
			return n, "", false
		}
	}
	return n, text, true
}
