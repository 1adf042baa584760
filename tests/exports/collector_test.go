package exports

import (
	"cmp"
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// collected is what a collector has understood of a message.
type collected struct {
	ResourceProfiles []struct {
		Resource struct {
			Attributes []struct {
				Key         string
				KeyStrindex int // newer releases have it in the table
			}
		}

		ScopeProfiles []struct {
			Profiles []struct {
				SampleType struct{ TypeStrindex int }
				Samples    []struct{ Values []string }
			}
		}
	}
	Dictionary struct{ StringTable []string }
}

// sums are the sums by type, and the names of the resource's attributes.
func (c *collected) sums(t *testing.T) (sums map[string]uint64, attributes []string) {
	t.Helper()
	sums = map[string]uint64{}
	for _, r := range c.ResourceProfiles {
		for _, a := range r.Resource.Attributes {
			attributes = append(attributes, cmp.Or(a.Key, c.Dictionary.StringTable[a.KeyStrindex]))
		}
		for _, s := range r.ScopeProfiles {
			for _, p := range s.Profiles {
				for _, one := range p.Samples {
					for _, text := range one.Values {
						n, err := strconv.ParseUint(text, 10, 64)
						if err != nil {
							t.Fatal(err)
						}
						sums[c.Dictionary.StringTable[p.SampleType.TypeStrindex]] += n
					}
				}
			}
		}
	}
	return sums, attributes
}

// TestCollectors pushes to the receivers of collectors: heaptap finds out which release of the protocol they read, and
// does not let one be asked for whose values they would lose.
func TestCollectors(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := list["four"]
	want := totals(t, path)
	for name, c := range map[string]struct {
		build func() (string, error)
		right string
		wrong map[string]string // and what is said of it
	}{
		"0.147": {buildOldCollector, "v0.2", map[string]string{"v0.4": "for field LinkIndex; the collector reads " +
			"another release of the protocol than v0.4; leave"}},
		"0.162": {buildCollector, "v0.4", map[string]string{"v0.2": "reads a newer release of the protocol than " +
			"v0.2, and would lose all values; leave"}},
	} {
		t.Run(name, func(t *testing.T) {
			addresses, got := servers(t, built(t, c.build))
			for i, address := range []string{addresses[0], "http://" + addresses[1]} {
				before := len(got())
				for _, flags := range [][]string{nil, {"--otlp-version", c.right}, {"--every", "100h"}} {
					command(t, slices.Concat([]string{"push", "--otlp", address, "--label", "pid=", "--label",
						"hostname=", path}, flags)...)
				}
				messages := got()[before:]
				if len(messages) != 3 {
					t.Fatalf("%d messages", len(messages))
				}
				for _, m := range messages {
					var one collected
					if err := json.Unmarshal(m, &one); err != nil {
						t.Fatal(err)
					}
					sums, attributes := one.sums(t)
					for typ, metric := range otlpMetrics {
						if sums[typ] != want[metric] {
							t.Errorf("%s: %s: %d, expected %d", address, typ, sums[typ], want[metric])
						}
					}
					if slices.Contains(attributes, "process.pid") || slices.Contains(attributes, "host.name") ||
						!slices.Contains(attributes, "service.name") {
						t.Errorf("%s: attributes %q", address, attributes)
					}
				}
				for release, says := range c.wrong {
					out, err := exec.Command(heaptap, "push", "--otlp", address, "--otlp-version", release,
						path).CombinedOutput()
					if err == nil || !strings.Contains(string(out), says) || strings.Count(string(out), "\n") != 1 {
						t.Errorf("%s, %s: %v: %s", address, release, err, out)
					}
				}
				if n := len(got()) - before; n != 3 {
					t.Errorf("%s: %d messages after wrong ones", address, n)
				}
				if i == 0 {
					out, err := exec.Command(heaptap, "push", "--otlp", "http://"+address, path).CombinedOutput()
					const wanted = "this port speaks gRPC, not HTTP/1; write HOST:PORT without http://"
					if err == nil || !strings.Contains(string(out), wanted) || strings.Count(string(out), "\n") != 1 {
						t.Errorf("HTTP at a port of gRPC: %v: %s", err, out)
					}
				}
			}
		})
	}
}

// TestNewestCollector pushes to what the newest release of the collector's library makes of messages. It refuses by a
// header what it does not read.
func TestNewestCollector(t *testing.T) {
	list, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	path := list["four"]
	addresses, got := servers(t, theJudges(t), "serve")
	pushAgain(t, "--otlp", addresses[0], path)
	command(t, "push", "--otlp", "http://"+addresses[2], path)
	if n := len(got()); n != 2 {
		t.Errorf("%d messages", n)
	}
	for _, address := range []string{addresses[0], "http://" + addresses[2]} {
		out, err := exec.Command(heaptap, "push", "--otlp", address, "--otlp-version", "v0.2", path).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "leave out --otlp-version") ||
			strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v: %s", address, err, out)
		}
	}
	if n := len(got()); n != 2 {
		t.Errorf("%d messages after wrong ones", n)
	}
}
