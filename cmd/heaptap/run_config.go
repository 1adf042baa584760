package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/spelling"
)

// configFlags let run's other flags come from the environment and from a file: --mark-every is HEAPTAP_MARK_EVERY
// and mark-every. A flag goes before a variable, a variable before the file.
type configFlags struct {
	file  string
	print bool
}

func (c *configFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.file, "config", "", "take flags that are not given from this `FILE` (TOML: mark-every = "+
		"\"10s\"); each flag is also a variable, HEAPTAP_MARK_EVERY")
	f.BoolVar(&c.print, "print-config", false,
		"print the flags as they hold, by command line, environment and file, in the form of --config, and run nothing")
}

// settable says whether a flag may come from elsewhere than the command line.
func settable(flag *pflag.Flag) bool {
	return flag != nil && !flag.Hidden && !slices.Contains([]string{"help", "config", "print-config"}, flag.Name)
}

// variableOf is the environment variable of a flag.
func variableOf(flag string) string {
	return "HEAPTAP_" + strings.ReplaceAll(strings.ToUpper(flag), "-", "_")
}

// load sets the flags that were not given.
func (c *configFlags) load(cmd *cobra.Command) error {
	f := cmd.Flags()
	if !f.Changed("config") {
		c.file = os.Getenv(variableOf("config"))
	}
	values, err := c.read(f)
	if err != nil {
		return &launch.StatusError{Status: launch.StatusFailed, Err: fmt.Errorf("run: --config %s: %w", c.file, err)}
	}
	f.VisitAll(func(flag *pflag.Flag) {
		if err != nil || flag.Changed || !settable(flag) {
			return
		}
		variable := variableOf(flag.Name)
		if text := os.Getenv(variable); text != "" {
			if wrong := f.Set(flag.Name, text); wrong != nil {
				err = usagef("run: %s=%s: %w", variable, text, unwrapFlag(wrong))
			}
			return
		}
		if list, ok := values[flag.Name]; ok {
			if wrong := setAll(f, flag, list); wrong != nil {
				err = usagef("run: --config %s: %s = %s: %w", c.file, flag.Name, strings.Join(list, ", "),
					unwrapFlag(wrong))
			}
		}
	})
	return err
}

// unwrapFlag takes away what pflag says of the flag.
func unwrapFlag(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && errors.Unwrap(invalid) != nil {
		return errors.Unwrap(invalid)
	}
	return err
}

func setAll(f *pflag.FlagSet, flag *pflag.Flag, list []string) error {
	if many, ok := flag.Value.(pflag.SliceValue); ok {
		flag.Changed = true
		return many.Replace(list)
	}
	if len(list) != 1 {
		return fmt.Errorf("one value is wanted")
	}
	return f.Set(flag.Name, list[0])
}

// read reads the file, if there is one.
func (c *configFlags) read(f *pflag.FlagSet) (map[string][]string, error) {
	if c.file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(c.file)
	if err != nil {
		return nil, reasonOf(err)
	}
	var keys map[string]any
	if err := toml.Unmarshal(b, &keys); err != nil {
		return nil, errors.New(strings.Map(printable, err.Error())) // it quotes the file
	}
	var names []string
	f.VisitAll(func(flag *pflag.Flag) {
		if settable(flag) {
			names = append(names, flag.Name)
		}
	})
	values := map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		v := keys[key]
		if !slices.Contains(names, key) {
			near := ""
			if n := spelling.Nearest(key, names); n != "" {
				near = fmt.Sprintf("; did you mean %q?", n)
			}
			return nil, fmt.Errorf("unknown key %q%s", key, near)
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
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

// reasonOf is an error of the file system without the file's name.
func reasonOf(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// write prints the flags as they hold. Those that nobody has set are comments.
func (c *configFlags) write(w io.Writer, f *pflag.FlagSet) error {
	var out bytes.Buffer
	f.VisitAll(func(flag *pflag.Flag) {
		if !settable(flag) {
			return
		}
		_, usage := pflag.UnquoteUsage(flag)
		mark := "# "
		if flag.Changed {
			mark = ""
		}
		fmt.Fprintf(&out, "# %s\n%s%s = %s\n\n", usage, mark, flag.Name, tomlOf(flag.Value))
	})
	_, err := w.Write(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
	return err
}

// tomlOf writes a flag's value as TOML.
func tomlOf(v pflag.Value) string {
	if many, ok := v.(pflag.SliceValue); ok {
		list := slices.Clone(many.GetSlice())
		for i, text := range list {
			list[i] = tomlText(text)
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	switch v.Type() {
	case "bool", "int":
		return v.String()
	}
	return tomlText(v.String())
}

// tomlText quotes: the escapes of JSON are those of TOML.
func tomlText(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // of a text there is no error
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}
