// Package flagfile reads and writes files of flags: TOML in which each key is the name of a flag. A flag that may be
// given several times has a list. Flags can also come from environment variables, whose names Variable makes.
package flagfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"github.com/heaptap/heaptap/internal/spelling"
)

// Variable returns the environment variable of a flag: HEAPTAP_MARK_EVERY for mark-every.
func Variable(flag string) string {
	return "HEAPTAP_" + strings.ReplaceAll(strings.ToUpper(flag), "-", "_")
}

// Read returns the values of each flag that a file sets. All of them must be among the known flags.
func Read(path string, known []string) (map[string][]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	var keys map[string]any
	if err := toml.Unmarshal(b, &keys); err != nil {
		var wrong toml.ParseError
		if errors.As(err, &wrong) {
			text := strings.TrimSuffix(wrong.Message, " for int64")
			err = fmt.Errorf("line %d: %s", wrong.Position.Line, text)
		}
		return nil, errors.New(strings.Map(printable, err.Error())) // it quotes the file
	}
	values := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, key) {
			near := ""
			if n := spelling.Nearest(key, known); n != "" {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			return nil, fmt.Errorf("unknown key %q%s", key, near)
		}
		list, ok := keys[key].([]any)
		if !ok {
			list = []any{keys[key]}
		}
		values[key] = []string{}
		for _, x := range list {
			switch x.(type) {
			case string, int64, float64, bool:
				values[key] = append(values[key], fmt.Sprint(x))
			default:
				return nil, fmt.Errorf("%q: a text, a number, true, false, or a list of texts is wanted", key)
			}
		}
	}
	return values, nil
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// withoutPath returns the reason of an error of the file system.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Entry returns the lines of a file that set a flag to a value, which is TOML (Text, List), after a comment. If the
// flag is not set, they are a comment, too.
func Entry(flag, comment, value string, set bool) string {
	mark := "# "
	if set {
		mark = ""
	}
	return fmt.Sprintf("# %s\n%s%s = %s\n", comment, mark, flag, value)
}

// Text returns a text as TOML.
func Text(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b) // the escapes of JSON are those of TOML
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can be encoded
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// List returns a list of texts as TOML.
func List(texts []string) string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = Text(text)
	}
	return "[" + strings.Join(list, ", ") + "]"
}
