package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/scrub"
)

func newScrubCommand() *cobra.Command {
	var output string
	var force bool
	flags := &scrubFlags{}
	var programs programFlags
	cmd := &cobra.Command{
		Use:   "scrub [flags] [RUN]",
		Short: "Replace names in a recording, to share it",
		Long: `Scrub writes a recording in which names are replaced by pseudonyms: the parts of paths (of programs,
libraries and source files), the host, the arguments, the working directory, values of the
environment, names of threads, marks, regions, pools and memory, and with --functions also functions
and static variables. Numbers, times, addresses and build ids stay, and so do names that every Linux
has: common folders such as /usr/lib, the C and C++ runtime.

With the same --salt, a name has the same pseudonym in every recording, so that scrubbed recordings
can be compared and merged. Keep the salt to yourself: whoever has it can guess names. Without
--salt, a new random one is used each time.

run and export do the same with --scrub.`,
		Example: `  heaptap scrub server.4711.htap                  # writes server.4711.scrubbed.htap
  heaptap scrub --functions --salt "$SECRET" -o case.htap server.4711.htap`,
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := programs.finder(cmd).Find(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			defer found.Close()
			from, to := &found.Recordings[0], output
			if to == "" {
				to = outfile.Name(from.Name) + ".scrubbed.htap"
			}
			if outfile.SameFile(from.Name, to) {
				return usagef("scrub: -o %s is the recording itself; give another name", to)
			}
			if err := outfile.Free(to, force); err != nil {
				return err
			}
			if err := flags.scrub(from, to); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), escape.Terminal(to))
			return err
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "write to `OUT`; default: RUN with .scrubbed before .htap, in the "+
		"working directory")
	f.BoolVarP(&force, "force", "f", false, "replace OUT if it exists")
	f.BoolVar(&flags.functions, "functions", false, "replace functions and static variables, too")
	f.StringVar(&flags.salt, "salt", "", "make pseudonyms with this `TEXT`: the same ones for the same names; "+
		"default: new ones each time")
	programs.add(f)
	return cmd
}

// scrubFlags say whether and how names are replaced by pseudonyms.
type scrubFlags struct {
	on, functions bool
	salt          string
	scrubber      *scrub.Scrubber
}

// add declares the flags for a command that does something else, too.
func (s *scrubFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&s.on, "scrub", false,
		"replace paths, host, arguments, threads and marks by pseudonyms, as heaptap scrub does")
	f.BoolVar(&s.functions, "scrub-functions", false, "with --scrub: functions and static variables, too")
	f.StringVar(&s.salt, "salt", "", "with --scrub: make pseudonyms with this `TEXT`; default: new ones each time")
}

// given returns the flags that were given and say how names are replaced.
func (s *scrubFlags) given(f *pflag.FlagSet) []string {
	return slices.DeleteFunc([]string{"scrub-functions", "salt"}, func(name string) bool { return !on(f, name) })
}

// scrub writes a recording, with pseudonyms, to another file.
func (s *scrubFlags) scrub(from *input.Recording, to string) error {
	r, err := from.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	return s.rename(r, to)
}

// rename writes a recording with pseudonyms to a file.
func (s *scrubFlags) rename(r *recording.Reader, to string) error {
	if s.scrubber == nil {
		salt := []byte(s.salt)
		if s.salt == "" {
			salt = make([]byte, 32)
			rand.Read(salt)
		}
		s.scrubber = scrub.New(salt, s.functions)
	}
	return recording.Rename(r, to, s.scrubber)
}

// temporary makes a scrubbed copy of a recording, which remove removes. Its name reveals nothing.
func (s *scrubFlags) temporary(from *input.Recording) (copied *input.Recording, remove func(), err error) {
	if !s.on {
		return from, func() {}, nil
	}
	dir, remove, err := outfile.TemporaryDir("heaptap-scrub-")
	if err != nil {
		return nil, nil, err
	}
	to := input.File(filepath.Join(dir, "scrubbed.htap"))
	if err := s.scrub(from, to.Name); err != nil {
		remove()
		return nil, nil, fmt.Errorf("%s: %s", from.Name, strings.TrimPrefix(err.Error(), from.Name+": "))
	}
	return &to, remove, nil
}

// scrubRun scrubs the recordings of a run in place, and what it says of its programs.
func (s *scrubFlags) scrubRun(result *launch.Result) (err error) {
	if st, failed := os.Stat(result.Run); result.Run != "" && failed == nil && st.IsDir() {
		return run.Rewrite(result.Run, s.rename)
	}
	for _, r := range result.Recordings {
		from := input.File(r.Path)
		err = errors.Join(err, s.scrub(&from, r.Path))
	}
	return err
}

// run scrubs the recordings of a run in place. It warns of what fails: the exit status is the program's.
func (s *scrubFlags) run(result *launch.Result, console *launch.Console) {
	if !s.on {
		return
	}
	if err := s.scrubRun(result); err != nil {
		console.Warn("--scrub: not done: %v", err)
	}
	if n := len(result.Running); n > 0 {
		console.Warn("--scrub: not done for processes that still run (%s); heaptap scrub can do it when their "+
			"recordings are written",
			strings.Trim(fmt.Sprint(result.Running[:min(n, 5)]), "[]"))
	}
}
