package main

import (
	"strings"
)

// compareTexts has both builds print everything that needs no recording.
func (s *session) compareTexts() error {
	var calls []call
	seen := map[string]bool{}
	add := func(args ...string) {
		if c := (call{args: args}); !seen[c.String()] {
			seen[c.String()] = true
			calls = append(calls, c)
		}
	}
	for _, line := range s.texts {
		add(strings.Fields(line)...)
	}
	for _, b := range []build{s.before, s.after} {
		names, err := b.helpTopics(s.dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			add("help", name)
		}
	}
	return s.compareAll("texts", s.path("recordings"), calls)
}

// helpTopics lists what help knows, commands and topics, as the shells' completion has it.
func (b build) helpTopics(dir string) ([]string, error) {
	text, err := b.must(dir, "__complete", "help", "")
	var names []string
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if !strings.HasPrefix(name, ":") {
			names = append(names, name)
		}
	}
	return names, err
}
