package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/flagfile"
	"github.com/heaptap/heaptap/internal/namesource"
	"github.com/heaptap/heaptap/internal/owncode"
	"github.com/heaptap/heaptap/internal/view"
)

// codeFlags say which frames of call stacks are shown.
type codeFlags struct {
	own, library []string
	frames       framesFlag
}

// code declares the flags that say whose code frames are. They may also come from the environment and the
// configuration file.
func (c *codeFlags) code(f *pflag.FlagSet) {
	f.StringSliceVar(&c.own, "own", nil, "never fold frames whose function, file or source matches this `PATTERN`, "+
		"and show them first; may be repeated (heaptap help frames)")
	f.StringSliceVar(&c.library, "library", nil, "fold frames that match this `PATTERN`, as those of the standard "+
		"library; may be repeated")
}

// stacks declares all flags for a command that shows call stacks; lines says that these take several lines each.
func (c *codeFlags) stacks(f *pflag.FlagSet, lines bool) {
	c.code(f)
	c.frames.lines = lines
	if lines {
		f.Var(&c.frames, "frames", "show at most `N` lines of each call stack (default 8); all: every frame, of "+
			"libraries, too")
	} else {
		f.Var(&c.frames, "frames", "all: show the frames of libraries and wrappers, too (`all`)")
	}
}

// framesFlag is how many lines of a call stack are shown: 0 if nobody said, -1 for all frames.
type framesFlag struct {
	n     int
	lines bool // a number may be given
}

func (n *framesFlag) String() string {
	switch {
	case n.n < 0:
		return "all"
	case n.n == 0:
		return ""
	}
	return strconv.Itoa(n.n)
}

func (n *framesFlag) Type() string { return "frames" }

func (n *framesFlag) Set(text string) error {
	k, err := strconv.Atoi(text)
	switch {
	case text == "all", err == nil && k == 0 && n.lines:
		n.n = -1
	case !n.lines:
		return fmt.Errorf("%q is not known; only \"all\" is", text)
	case err != nil || k < 0:
		return fmt.Errorf("%q is not a number of lines, and not \"all\"", text)
	default:
		n.n = k
	}
	return nil
}

// apply sets what the flags, the environment and the configuration file say.
func (c *codeFlags) apply(cmd *cobra.Command, o *view.Options) error {
	o.Frames, o.NamesOf = c.frames.n, namesOf
	var err error
	o.Code, err = c.rules(cmd)
	return err
}

// namesOf says where the names of a file's functions can be had that symbols and debug information here do not have.
func namesOf(path string, buildID []byte) namesource.Source {
	from := namesource.System{}.Of(path, buildID)
	if os.Getenv("DEBUGINFOD_URLS") != "" {
		from.Servers = "" // the user knows it
	}
	return from
}

// rules returns what the user says of code.
func (c *codeFlags) rules(cmd *cobra.Command) (r owncode.Rules, err error) {
	own, library := c.own, c.library
	if cmd.Name() != "run" { // which takes all of its flags from there
		if own, library, err = c.fromFile(cmd); err != nil {
			return r, err
		}
	}
	for _, x := range []struct {
		name  string
		texts []string
		to    *[]owncode.Pattern
	}{{"own", own, &r.Own}, {"library", library, &r.Library}} {
		if *x.to, err = owncode.ParsePatterns(x.texts); err != nil {
			return r, usagef("%s: --%s %w", cmd.Name(), x.name, err)
		}
	}
	r.Folder, _ = os.Getwd() // without it, no code is own because of its sources
	return r, nil
}

// fromFile returns the patterns of the command line, else those of the environment, else those of the file that
// HEAPTAP_CONFIG names.
func (c *codeFlags) fromFile(cmd *cobra.Command) (own, library []string, err error) {
	var values map[string][]string
	if file := os.Getenv(flagfile.Variable("config")); file != "" {
		var configs configFlags
		configs.file = file
		if values, err = configs.read(newRunCommand().Flags()); err != nil {
			return nil, nil, usagef("%s: %s=%s: %w", cmd.Name(), flagfile.Variable("config"), file, err)
		}
	}
	get := func(name string, given []string) []string {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			return given
		}
		if text := os.Getenv(flagfile.Variable(name)); text != "" {
			return strings.Split(text, ",")
		}
		return values[name]
	}
	return get("own", c.own), get("library", c.library), nil
}
