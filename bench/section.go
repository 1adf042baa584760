package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Sections of the page that a separate run writes, and all others keep.

// findSection returns where a section of a page is: from its heading to the next heading of the same level.
func findSection(page, heading string) (from, to int, ok bool) {
	from = strings.Index("\n"+page, "\n"+heading)
	if from < 0 {
		return len(page), len(page), false
	}
	to = strings.Index(page[from+len(heading):], "\n## ")
	if to < 0 {
		return from, len(page), true
	}
	return from, from + len(heading) + to + 1, true
}

// keptSection returns a section of an existing page; text if there is none.
func keptSection(page, heading, text string) string {
	from, to, ok := findSection(page, heading)
	if !ok {
		return text
	}
	return page[from:to]
}

// withSection returns a page in which the section of that heading is replaced, or appended if there was none.
func withSection(page, heading, text string) string {
	from, to, ok := findSection(page, heading)
	if !ok && page != "" {
		return strings.TrimRight(page, "\n") + "\n\n" + strings.TrimRight(text, "\n") + "\n"
	}
	return page[:from] + text + page[to:]
}

// writeSection prints a section, and writes it into a page if one is given.
func writeSection(out, heading, text string) error {
	fmt.Print(text)
	if out == "" {
		return nil
	}
	old, err := os.ReadFile(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(out, []byte(withSection(string(old), heading, text)), 0o644)
}
