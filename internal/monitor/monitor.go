// Package monitor implements the monitors of heaptap run --monitor.
//
// A monitor acts while the program runs (periodic), before an allocation returns (threshold, in the agent), or on each
// recording when the run has ended. A user's library can be a monitor, too: it is preloaded.
package monitor

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/reply"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/spelling"
)

// monitor is a monitor of a run: a name, or the path of a library, and options.
type monitor struct {
	name    string
	options map[string]string
	library string // its path; "": one of heaptap's own monitors
	text    string // its options as they were written
	mu      sync.Mutex
	files   map[string]string // the recording of each file that it writes
}

// Monitors are the monitors of a run.
type Monitors struct {
	list []*monitor
	live livePeriods
}

// options are heaptap's own monitors, and the options of each.
var options = map[string][]string{
	"summary":   {"file"},
	"periodic":  {"every", "file"},
	"histogram": {"file"},
	"regions":   {"region", "sort", "format", "file"},
	"threshold": {"min", "max", "live", "skip", "times", "timeout", "do", "command"},
	"budget":    {"region", "allocations", "requested", "added", "peak", "largest", "file"},
	"transient": {"limit", "file"},
}

// Names are the names of heaptap's own monitors, in the order of the documentation.
var Names = []string{"summary", "periodic", "histogram", "regions", "threshold", "budget", "transient"}

// cutMonitor splits a text into its first monitor and the rest. A command extends to the end of the text.
func cutMonitor(text string) (first, rest string) {
	first, rest, _ = strings.Cut(text, ";")
	if strings.HasPrefix(strings.TrimSpace(first), "threshold:") && strings.Contains(first, "command=") {
		return text, ""
	}
	return first, rest
}

// Parse reads monitors. Each value may contain several, separated by semicolons. freeStacks says whether the call
// stacks of deallocations are recorded.
func Parse(values []string, freeStacks bool) (*Monitors, error) {
	var list []*monitor
	for _, value := range values {
		for text := ""; value != ""; {
			text, value = cutMonitor(value)
			if strings.TrimSpace(text) == "" {
				continue
			}
			m, err := parseMonitor(strings.TrimSpace(text))
			if err == nil && m.name == "transient" && !freeStacks {
				err = errors.New("it needs the call stacks of deallocations; add --free-stacks")
			}
			if err == nil && m.library == "" &&
				slices.ContainsFunc(list, func(o *monitor) bool { return o.name == m.name && m.name == "threshold" }) {
				err = errors.New("only one is possible")
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
			list = append(list, m)
		}
	}
	return &Monitors{list: list}, nil
}

func parseMonitor(text string) (*monitor, error) {
	name, rest, _ := strings.Cut(text, ":")
	m := &monitor{name: name, text: rest, options: map[string]string{}}
	if strings.ContainsRune(name, '/') {
		var err error
		if m.library, err = filepath.Abs(name); err != nil {
			return nil, err
		}
		if _, err := os.Stat(m.library); err != nil {
			return nil, withoutPath(err)
		}
		if strings.ContainsAny(m.library, " :$;\n") {
			return nil, errors.New("the loader cannot preload a path with a space, a colon, a semicolon or a dollar " +
				"sign in it")
		}
		return m, nil
	}
	known, ok := options[name]
	if !ok {
		return nil, fmt.Errorf("known are %s, and libraries by their path, as ./mine.so%s", strings.Join(Names, ", "),
			spelling.DidYouMean(name, Names))
	}
	for rest != "" {
		var option string
		if option, rest, _ = strings.Cut(rest, ","); strings.HasPrefix(option, "command=") && rest != "" {
			option, rest = option+","+rest, ""
		}
		key, value, ok := strings.Cut(option, "=")
		if !slices.Contains(known, key) || !ok || value == "" {
			return nil, fmt.Errorf("%q: %s takes %s, each as KEY=VALUE", option, name, strings.Join(known, ", "))
		}
		m.options[key] = value
	}
	return m, m.check()
}

// withoutPath returns the reason of an error of the file system.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// check checks the options before the target runs.
func (m *monitor) check() error {
	for _, key := range options[m.name] {
		value, given := m.options[key]
		if !given {
			continue
		}
		var err error
		switch key {
		case "every":
			_, err = m.every()
		case "timeout":
			_, err = m.timeout()
		case "sort":
			err = oneOf(value, query.RegionOrders()...)
		case "format":
			err = oneOf(value, "text", "json", "trace")
		case "allocations", "skip", "limit", "times":
			_, err = humanize.ParseCount(value)
		case "requested", "added", "peak", "largest", "min", "max", "live":
			_, err = humanize.ParseSize(value)
		}
		if err != nil {
			return fmt.Errorf("%s=%w", key, err)
		}
	}
	switch {
	case m.name == "budget" && len(m.limits()) == 0:
		return errors.New("it needs a limit: allocations, requested, added, peak or largest")
	case m.name == "threshold":
		return m.checkThreshold()
	}
	return nil
}

// every returns the step of periodic.
func (m *monitor) every() (time.Duration, error) {
	text, ok := m.options["every"]
	if !ok {
		return time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond {
		return 0, fmt.Errorf("%q is not a duration of at least 1ms (for example 100ms)", text)
	}
	return d, nil
}

// timeout returns how long the command of a threshold may run.
func (m *monitor) timeout() (time.Duration, error) {
	text, ok := m.options["timeout"]
	if !ok {
		return reply.ThresholdTime, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > time.Hour {
		return 0, fmt.Errorf("%q is not a duration between 1ms and 1h (for example 10s)", text)
	}
	return d, nil
}

// checkThreshold checks the options that the agent gets.
func (m *monitor) checkThreshold() error {
	o := m.options
	if o["min"] == "" && o["max"] == "" && o["live"] == "" {
		return errors.New("it needs min or max, the size of an allocation, or live")
	}
	if do := o["do"]; do != "" && do != "print" && do != "run" && do != "signal" && do != "abort" {
		return fmt.Errorf("do=%s: must be print, run, signal or abort", do)
	}
	if n, err := humanize.ParseCount(o["times"]); err == nil && n < 1 {
		return fmt.Errorf("times=%s: must be at least 1", o["times"])
	}
	switch {
	case o["do"] == "run" && o["command"] == "":
		return errors.New("do=run needs command=COMMAND, which extends to the end of the text")
	case o["command"] != "" && o["do"] == "":
		o["do"] = "run"
	}
	return nil
}

// Variables returns the variables that the target needs in its environment, and the libraries to preload.
func (all *Monitors) Variables() (env, libraries []string) {
	var lines []string
	for _, m := range all.list {
		switch {
		case m.library != "":
			libraries = append(libraries, m.library)
			lines = append(lines, m.library+":"+m.text)
		case m.name == "threshold":
			env = append(env, "HEAPTAP_THRESHOLD="+m.threshold())
		}
	}
	if lines != nil {
		env = append(env, "HEAPTAP_MONITOR_LIBRARIES="+strings.Join(lines, "\n"))
	}
	return env, libraries
}

// threshold formats the options for the agent: plain numbers.
func (m *monitor) threshold() string {
	var list []string
	for _, key := range options["threshold"] {
		value := m.options[key]
		switch {
		case key == "timeout" && (value != "" || m.options["command"] != ""):
			d, _ := m.timeout()
			if m.options["command"] != "" {
				d += reply.ThresholdGrace
			}
			value = strconv.FormatInt(d.Milliseconds(), 10)
		case value == "" || key == "command": // the recorder runs the command
			continue
		case key == "skip" || key == "times":
			n, _ := humanize.ParseCount(value)
			value = strconv.FormatInt(n, 10)
		case key != "do":
			n, _ := humanize.ParseSize(value)
			value = strconv.FormatInt(n, 10)
		}
		list = append(list, key+"="+value)
	}
	return strings.Join(list, ",")
}

// Command returns the command that the recorder runs when a threshold acts, and for how long at most.
func (all *Monitors) Command() (string, time.Duration) {
	for _, m := range all.list {
		if m.library == "" && m.options["command"] != "" {
			d, _ := m.timeout()
			return m.options["command"], d
		}
	}
	return "", 0
}

// file returns the name of the monitor's file for a recording; "": none. %p in the option stands for the process id. If
// another recording has that name already, the process id is put before the extension.
func (m *monitor) file(path string, pid int) string {
	name := m.options["file"]
	if name == "" && m.name == "periodic" {
		name = strings.TrimSuffix(cmp.Or(run.Of(path), path), ".htap") + ".periodic.csv"
	}
	if name == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = map[string]string{}
	}
	name = strings.ReplaceAll(name, "%p", strconv.Itoa(pid))
	if of, taken := m.files[name]; taken && of != path {
		extension := filepath.Ext(name)
		name = fmt.Sprintf("%s.%d%s", strings.TrimSuffix(name, extension), pid, extension)
	}
	m.files[name] = path
	return name
}

// output calls write with the monitor's file for a recording, or with the console.
func (m *monitor) output(path string, pid int, console *launch.Console, write func(w io.Writer) error) error {
	name := m.file(path, pid)
	if name == "" {
		return write(console)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// oneOf checks that a value is one of some words.
func oneOf(value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	last := len(choices) - 1
	return fmt.Errorf("%q: must be %s or %s", value, strings.Join(choices[:last], ", "), choices[last])
}
