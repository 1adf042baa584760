package main

import (
	"os"
	"path/filepath"
	"strings"
)

// lines reads lists of commands. Lines that begin with # are comments.
func (s *session) lines(paths ...string) ([]string, error) {
	var list []string
	for _, path := range paths {
		text, err := os.ReadFile(filepath.Join(s.root, path))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				list = append(list, line)
			}
		}
	}
	return list, nil
}

// parse makes a call of a line. In it, FILE stands for the recording that is asked about, GOOD for another one, OUT for
// what is to be written, and FORMAT for a format of export. A line may begin with variables of the environment.
func parse(line, file, good, format string) (c call, ok bool) {
	replace := strings.NewReplacer("FILE", "rec/"+file, "GOOD", "rec/"+good, "OUT", "out", "FORMAT", format)
	for _, word := range strings.Fields(line) {
		if len(c.args) == 0 && strings.Contains(word, "=") {
			c.env = append(c.env, word)
			continue
		}
		c.args = append(c.args, replace.Replace(word))
	}
	return c, strings.Contains(line, "FILE")
}
