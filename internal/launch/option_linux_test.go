package launch

import (
	"syscall"
	"testing"
)

// TestOptions: what each option of a run accepts, and as what the agent gets it.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		name      string
		read      func(string) (string, error)
		text, out string // out "": it is an error
	}{
		{"mode", AgentMode, "sampled", "sampled"}, {"mode", AgentMode, "fast", ""},
		{"stack", AgentStack, "enter-exit", "enter-exit"}, {"stack", AgentStack, "", ""},
		{"start", AgentStart, "off", "off"}, {"start", AgentStart, "no", ""},
		{"sample", AgentSample, "64KiB", "65536"}, {"sample", AgentSample, "0", ""}, {"sample", AgentSample, "65T", ""},
		{"sample-calls", AgentSampleCalls, "1k", "1000"}, {"sample-calls", AgentSampleCalls, "1KiB", ""},
		{"stack-min", AgentSize, "0", "0"}, {"stack-min", AgentSize, "-1", ""},
		{"start-after", AgentMoment, "1.5s", "1500ms"}, {"start-after", AgentMoment, "1M", "1000000"},
		{"start-after", AgentMoment, "-1s", ""}, {"start-after", AgentMoment, "soon", ""},
	} {
		if got, err := c.read(c.text); (err == nil) != (c.out != "") || err == nil && got != c.out {
			t.Errorf("%s %s: %q, %v; want %q", c.name, c.text, got, err, c.out)
		}
	}
	for text, want := range map[string]bool{"cc1*": true, "a?b": true, "": false, "[ab]": false, `a\b`: false} {
		if err := CheckPattern(text); (err == nil) != want {
			t.Errorf("pattern %q: %v", text, err)
		}
	}
	for text, want := range map[string]uint32{"600": 0o600, "0644": 0o644, "400": 0, "1777": 0, "rw": 0} {
		if got, err := ParseOutputMode(text); uint32(got) != want || (err == nil) != (want != 0) {
			t.Errorf("output mode %s: %o, %v", text, got, err)
		}
	}
	for text, want := range map[string]syscall.Signal{"usr1": syscall.SIGUSR1, "SIGPWR": syscall.SIGPWR, "INT": 0} {
		if got, err := MarkSignal(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("signal %s: %v, %v", text, got, err)
		}
	}
}
