package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/flagfile"
	"github.com/heaptap/heaptap/internal/launch"
)

// configFlags let run's other flags come from the environment and from a file: --mark-every is HEAPTAP_MARK_EVERY
// and mark-every. The command line overrides variables, and these override the file.
type configFlags struct {
	file  string
	print bool
}

func (c *configFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.file, "config", "", "take other flags from this `FILE` (TOML: mark-every = \"10s\"); "+
		"each flag is also a variable, HEAPTAP_MARK_EVERY")
	f.BoolVar(&c.print, "print-config", false,
		"print the flags with their values from command line, environment and file, in the form of --config, and run "+
			"nothing")
}

// settable reports whether a flag may come from the environment and the file.
func settable(flag *pflag.Flag) bool {
	return flag != nil && !flag.Hidden &&
		!slices.Contains([]string{"help", "help-all", "config", "print-config"}, flag.Name)
}

// load sets the flags that the command line does not have.
func (c *configFlags) load(cmd *cobra.Command) error {
	f := cmd.Flags()
	if !f.Changed("config") {
		c.file = os.Getenv(flagfile.Variable("config"))
	}
	values, err := c.read(f)
	if err != nil {
		return &launch.StatusError{Status: launch.StatusFailed, Err: fmt.Errorf("run: --config %s: %w", c.file, err)}
	}
	f.VisitAll(func(flag *pflag.Flag) {
		if err != nil || flag.Changed || !settable(flag) {
			return
		}
		variable := flagfile.Variable(flag.Name)
		if text := os.Getenv(variable); text != "" {
			if wrong := f.Set(flag.Name, text); wrong != nil {
				err = usagef("run: %s=%s: %w", variable, text, valueError(flag, text, wrong))
			}
			return
		}
		if list, ok := values[flag.Name]; ok {
			if wrong := setAll(f, flag, list); wrong != nil {
				text := strings.Join(list, ", ")
				err = usagef("run: --config %s: %s = %s: %w", c.file, flag.Name, text, valueError(flag, text, wrong))
			}
		}
	})
	return err
}

func setAll(f *pflag.FlagSet, flag *pflag.Flag, list []string) error {
	if many, ok := flag.Value.(pflag.SliceValue); ok {
		flag.Changed = true
		return many.Replace(list)
	}
	if len(list) != 1 {
		return errors.New("must have exactly one value")
	}
	return f.Set(flag.Name, list[0])
}

// read reads the file, if there is one.
func (c *configFlags) read(f *pflag.FlagSet) (map[string][]string, error) {
	if c.file == "" {
		return nil, nil
	}
	var known []string
	f.VisitAll(func(flag *pflag.Flag) {
		if settable(flag) {
			known = append(known, flag.Name)
		}
	})
	return flagfile.Read(c.file, known)
}

// write prints all flags with their values. Those that nobody has set are comments.
func (c *configFlags) write(w io.Writer, f *pflag.FlagSet) error {
	var entries []string
	f.VisitAll(func(flag *pflag.Flag) {
		if settable(flag) {
			_, usage := pflag.UnquoteUsage(flag)
			entries = append(entries, flagfile.Entry(flag.Name, usage, tomlOf(flag.Value), flag.Changed))
		}
	})
	_, err := io.WriteString(w, strings.Join(entries, "\n"))
	return err
}

// tomlOf returns a flag's value as TOML.
func tomlOf(v pflag.Value) string {
	if many, ok := v.(pflag.SliceValue); ok {
		return flagfile.List(many.GetSlice())
	}
	switch v.Type() {
	case "bool", "int":
		return v.String()
	}
	return flagfile.Text(v.String())
}
