package programs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Compiler returns the command with which g++ would start its compiler proper on heavy.cc, which BuildPrograms has put
// into dir. The command writes no output.
func Compiler(dir string) ([]string, error) {
	src := filepath.Join(dir, "src", "heavy.cc")
	var out bytes.Buffer
	cmd := exec.Command("g++", "-###", "-O2", "-std=c++17", "-c", src, "-o", filepath.Join(dir, "heavy.o"))
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("g++: %w", err)
	}
	for _, line := range strings.Split(out.String(), "\n") {
		args := words(line)
		if len(args) == 0 || filepath.Base(args[0]) != "cc1plus" {
			continue
		}
		for i := range args {
			if i > 0 && args[i-1] == "-o" {
				args[i] = os.DevNull
			}
		}
		return args, nil
	}
	return nil, fmt.Errorf("g++ -### names no cc1plus")
}

// words splits a line of g++ -### into words, some of which are in double quotes with backslashes.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quoted, inside := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
			inside = true
		case c == '"':
			quoted, inside = !quoted, true
		case c == ' ' && !quoted:
			if inside {
				all = append(all, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteByte(c)
			inside = true
		}
	}
	if inside {
		all = append(all, word.String())
	}
	return all
}
