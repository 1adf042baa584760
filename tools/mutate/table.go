package main

import (
	"fmt"
	"regexp"
	"strings"
)

// section is a part of the program: its faults, and how it is built and tested.
type section struct {
	name   string
	build  string
	tests  []string // commands, the cheap ones first
	faults []fault
}

// fault is a change that some test must find.
type fault struct {
	file, title string
	old, new    string
	tests       []string // tried before those of the section
}

func (s section) matching(p *regexp.Regexp) (list []fault) {
	for _, f := range s.faults {
		if p.MatchString(f.file) || p.MatchString(f.title) {
			list = append(list, f)
		}
	}
	return list
}

// parse reads a table of faults:
//
//	# NAME            begins a section
//	build COMMAND     builds it
//	test COMMAND      tests it; of a fault, if it comes after one
//	FILE: TITLE       begins a fault
//	- OLD             text that is in the file once; several lines, joined, are one text
//	+ NEW             what replaces it
//
// Empty lines and lines that begin with // are ignored.
func parse(text string) (list []section, err error) {
	var s *section
	var f *fault
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "//"):
		case word == "#":
			list = append(list, section{name: rest})
			s, f = &list[len(list)-1], nil
		case s == nil:
			return nil, fmt.Errorf("line %d: expected # and the name of a section", i+1)
		case word == "build":
			s.build = rest
		case word == "test" && f == nil:
			s.tests = append(s.tests, rest)
		case word == "test":
			f.tests = append(f.tests, rest)
		case strings.HasSuffix(word, ":"):
			s.faults = append(s.faults, fault{file: strings.TrimSuffix(word, ":"), title: rest})
			f = &s.faults[len(s.faults)-1]
		case f != nil && word == "-":
			f.old = join(f.old, rest)
		case f != nil && word == "+":
			f.new = join(f.new, rest)
		default:
			return nil, fmt.Errorf("line %d: %q is not understood", i+1, line)
		}
	}
	for _, s := range list {
		for _, f := range s.faults {
			if f.old == "" || f.old == f.new {
				return nil, fmt.Errorf("%s: %s: changes nothing", f.file, f.title)
			}
		}
	}
	return list, nil
}

func join(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}
