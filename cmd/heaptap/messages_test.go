package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/profile/profiletest"
)

// foreign is how packages word errors for programmers.
var foreign = regexp.MustCompile(`strconv|invalid syntax|value out of range|invalid argument "|bad flag syntax|` +
	`flag needs|\btime: |bare "|quoted-field|on line 1, column|` +
	`pflag|cobra|json: [cui]|looking for beginning|invalid character|: toml: |int64|` +
	`proto: |gzip: |xz: |zstd: |lz4: |unexpected EOF|regexp|reflect|runtime error|%!|0x[0-9a-f]{8,}|goroutine`)

// wrongValues are what users mistype.
var wrongValues = []string{"banana", "-1", "1e999", "99999999999999999999999", "", "(", "*[", `"a`, `a"b`, "5%%",
	"\x1b[31m", "1h-", "..", "@", "mark:", "#", "a b", "0x10", "1_000", "NaN"}

// checkMessage holds an error to its form: one line that begins with "heaptap: ", names heaptap once, and has no words
// of a package.
func checkMessage(t *testing.T, line, message string) {
	t.Helper()
	// What users have written may be anything.
	words := message
	for _, v := range wrongValues {
		if v != "" {
			words = strings.ReplaceAll(words, fmt.Sprintf("%q", v), "")
		}
	}
	switch {
	case strings.Count(message, "\n") != 1 || !strings.HasPrefix(message, "heaptap: "):
		t.Errorf("%s: not one line of heaptap's: %q", line, message)
	case strings.HasPrefix(message, "heaptap: heaptap"):
		t.Errorf("%s: doubled name: %q", line, message)
	case foreign.MatchString(words):
		t.Errorf("%s: words of a package: %q", line, message)
	}
}

// TestFlagMessages gives every flag of every command what it cannot take, in its different forms.
func TestFlagMessages(t *testing.T) {
	t.Parallel()
	checked := 0
	visitCommands(newRootCommand(allCommands), func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		var flags []*pflag.Flag
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f) })
		try := func(args ...string) {
			if err := cmd.ParseFlags(args); err != nil {
				checked++
				text := fmt.Sprintf("heaptap: %s\n", oneLine(flagError(cmd, err)))
				checkMessage(t, fmt.Sprintf("%s %q", cmd.CommandPath(), args), text)
			}
		}
		try("--banana")
		try("-%")
		try("--=")
		try("--" + strings.Repeat("x", 100))
		for _, f := range flags {
			try("--" + f.Name)
			try("--" + f.Name + "s=1")
			for _, v := range wrongValues {
				try("--" + f.Name + "=" + v)
				if f.Shorthand != "" {
					try("-" + f.Shorthand + v)
				}
			}
		}
	})
	if checked < 500 {
		t.Errorf("only %d errors", checked)
	}
}

func visitCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		visitCommands(c, visit)
	}
}

// TestMessages calls heaptap wrongly: flags with a meaning of their own, arguments, the environment, files.
func TestMessages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.htap")
	profiletest.Server(t, good)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.toml", "top = [1\n")
	write("b.toml", "top = \"banana\"\n")
	write("c.toml", "top = 99999999999999999999\n")
	write("d.toml", "mark-every = \"soon\"\n")
	write("e.toml", "children = 1979-05-27\n")
	write("x.json", "{banana}")
	write("x.folded", "a;b banana\n")
	write("x.gz", "\x1f\x8b\x08banana")
	write("x.zst", "\x28\xb5\x2f\xfdbanana")
	write("massif.out.1", "desc: x\ncmd: x\ntime_unit: i\nsnapshot=banana\n")
	write("heap", "heap profile: 1: 1 [1: 99999999999999999999] @ heapprofile\n")
	write("speedscope.json",
		`{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":7,"profiles":{}}`)
	write("dhat.json", `{"dhatFileVersion":"x","mode":7}`)
	write("damaged.htap", "HEAPTAP\x00banana and more than thirty-two bytes of it")
	write("bad.supp", "leak\n")

	var lines [][]string
	for _, c := range newRootCommand(allCommands).Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		texts := stringFlags(c)
		for _, flag := range texts {
			for _, v := range []string{"banana", "-1", "99999999999999999999999", "", "*[", `"a`, "5%%"} {
				if c.Name() == "run" {
					lines = append(lines, []string{"run", "--" + flag + "=" + v, "--", "true"})
				} else if needsRecording[c.Name()] {
					lines = append(lines, []string{c.Name(), "--" + flag + "=" + v, "good.htap"})
				} else if servers[c.Name()] {
					lines = append(lines, []string{c.Name(), "--" + flag + "=" + v, "none.htap"})
				} else {
					lines = append(lines, []string{c.Name(), "--" + flag + "=" + v})
				}
			}
		}
		lines = append(lines, []string{c.Name(), "banana"}, []string{c.Name(), "-1"},
			[]string{c.Name(), "99999999999999999999", "x"})
		if !servers[c.Name()] {
			lines = append(lines, []string{c.Name(), ""})
		}
		if needsRecording[c.Name()] {
			for _, f := range []string{"a.toml", "x.json", "x.folded", "x.gz", "x.zst", "massif.out.1", "heap",
				"speedscope.json", "dhat.json", "damaged.htap", "good.htap@banana", "good.htap@99999999999s.."} {
				lines = append(lines, []string{c.Name(), f})
			}
		}
	}
	lines = append(lines, []string{"run", "--config", "a.toml", "true"}, []string{"run", "--config", "b.toml", "true"},
		[]string{"run", "--config", "c.toml", "true"}, []string{"run", "--config", "d.toml", "true"},
		[]string{"run", "--config", "e.toml", "true"}, []string{"leaks", "--suppressions", "bad.supp", "good.htap"},
		[]string{"check", "--suppressions", "a.toml", "--max-leaked", "0", "good.htap"})
	run := func(env string, args ...string) {
		cmd := exec.Command(plainHeaptap(t), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, env)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return
		}
		for message := range strings.Lines(string(out)) {
			if strings.HasPrefix(message, "heaptap: ") {
				checkMessage(t, fmt.Sprintf("%s heaptap %q", env, args), message)
			}
		}
	}
	for _, args := range lines {
		run("A=b", args...)
	}
	var runFlagNames []string
	for _, c := range newRootCommand(allCommands).Commands() {
		if c.Name() == "run" {
			runFlagNames = flagNames(c)
		}
	}
	for _, name := range runFlagNames {
		for _, v := range []string{"banana", "-1", "99999999999999999999999", `"a`} {
			run("HEAPTAP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+v, "run", "-q", "--", "true")
		}
	}
}

// needsRecording are the commands whose first argument is a recording.
var needsRecording = map[string]bool{"report": true, "top": true, "tree": true, "timeline": true, "rise": true,
	"generations": true, "hist": true, "blocks": true, "regions": true, "threads": true, "leaks": true, "source": true,
	"globals": true, "mismatches": true, "sql": true,
	"compactness": true, "frames": true, "replay": true,
	"check": true, "diff": true, "export": true, "verify": true, "dump": true, "log": true}

// servers are the commands that do not end once they have found a recording.
var servers = map[string]bool{"open": true, "serve": true}

// stringFlags are the flags whose text the command reads itself, without those that name files and servers.
func stringFlags(c *cobra.Command) (list []string) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || slices.Contains([]string{"bool", "int", "duration"}, f.Value.Type()):
		case f.Name == "output" || f.Name == "log" || f.Name == "output-dir":
		default:
			list = append(list, f.Name)
		}
	})
	return list
}

func plainHeaptap(t *testing.T) string {
	t.Helper()
	dir, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "heaptap")
}
