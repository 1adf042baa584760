package launch

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/humanize"
)

// The functions below read the text of one option of a run. The errors quote the text and say what is accepted; the
// caller adds which option it is. Those that return a string return the value as the agent's variable has it.

// largestSample is the largest mean, in bytes or calls, that the agent accepts.
const largestSample = 1 << 46

// ParseOutputMode reads permissions of recordings, in octal. The owner must be able to read and write.
func ParseOutputMode(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 {
		return 0, fmt.Errorf("%q is not a file's permissions in octal (for example 600, 640, 644)", text)
	}
	if n&0o600 != 0o600 {
		return 0, fmt.Errorf("%s: the owner must be able to read and write (for example 600, 640, 644)", text)
	}
	return fs.FileMode(n), nil
}

// AgentMode reads what the agent records.
func AgentMode(text string) (string, error) { return oneOf(text, "exact", "sampled", "count", "off") }

// AgentStack reads how the agent finds call stacks.
func AgentStack(text string) (string, error) { return oneOf(text, "unwind", "enter-exit") }

// AgentStart reads whether the agent records from the beginning.
func AgentStart(text string) (string, error) { return oneOf(text, "on", "off") }

// AgentSample reads the mean distance of samples in bytes.
func AgentSample(text string) (string, error) { return sampleMean(humanize.ParseSize(text)) }

// AgentSampleCalls reads the mean distance of samples in calls.
func AgentSampleCalls(text string) (string, error) { return sampleMean(humanize.ParseCount(text)) }

func sampleMean(n int64, err error) (string, error) {
	if err == nil && (n < 1 || n > largestSample) {
		err = fmt.Errorf("%d: must be between 1 and %d", n, int64(largestSample))
	}
	return strconv.FormatInt(n, 10), err
}

// AgentSize reads a size.
func AgentSize(text string) (string, error) {
	n, err := humanize.ParseSize(text)
	return strconv.FormatInt(n, 10), err
}

// AgentMoment reads a time or a number of allocations after which something happens.
func AgentMoment(text string) (string, error) {
	if n, err := humanize.ParseCount(text); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return "", fmt.Errorf("%q is neither a time, as 500ms, 10s or 5m, nor a number of allocations, as 20000 or 1M",
			text)
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms", nil
}

func oneOf(text string, choices ...string) (string, error) {
	if slices.Contains(choices, text) {
		return text, nil
	}
	last := len(choices) - 1
	return "", fmt.Errorf("%q: must be %s or %s", text, strings.Join(choices[:last], ", "), choices[last])
}

// CheckPattern returns what is wrong with a pattern for names of programs.
func CheckPattern(text string) error {
	if _, err := path.Match(text, ""); err != nil || text == "" || strings.ContainsAny(text, "[]\\") {
		return fmt.Errorf("%q is not a pattern; write a name with * and ?", text)
	}
	return nil
}

// markSignals are the signals that set marks: those with no other use in run and recorder.
var markSignals = []syscall.Signal{unix.SIGUSR1, unix.SIGUSR2, unix.SIGHUP, unix.SIGALRM, unix.SIGVTALRM,
	unix.SIGWINCH, unix.SIGIO, unix.SIGPWR}

// MarkSignal reads the name of a signal that sets marks: SIGUSR1, or usr1.
func MarkSignal(name string) (syscall.Signal, error) {
	full := "SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")
	var known []string
	for _, sig := range markSignals {
		if unix.SignalName(sig) == full {
			return sig, nil
		}
		known = append(known, unix.SignalName(sig))
	}
	return 0, fmt.Errorf("%q is not a signal for marks; known are %s", name, strings.Join(known, ", "))
}
