package view

import (
	"bytes"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/insight"
	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/profile/profiletest"
	"github.com/heaptap/heaptap/internal/query"
)

// standOut is what stands out in a made-up program: names come from anyone, and may be long.
var standOut = []insight.Finding{
	{Rule: insight.Growth, Place: insight.Place{Function: "grow", File: "/src/a\x1b[31m.c", Line: 7,
		Name: "std::map<int, std::vector<std::pair<int, int>>>::grow(int, std::vector<std::pair<int, int>>)"},
		Saves: 5e6, Unit: query.ByteCount, Says: []insight.Part{{Text: " keeps growing: "},
			{Value: 5000, Unit: insight.Rate}, {Text: " from the start to the end. Never freed: "},
			{Value: 5e6, Unit: insight.Bytes}, {Text: "."}}, Basis: []insight.Part{{Text: "measured"}},
		Show: insight.Question{Page: "leaks", Metric: "leaked", Focus: "^grow\x1b$"}},
	{Rule: insight.Mappings, Place: insight.Place{Name: "V8's heap"}},
	{Rule: insight.Temporaries, Place: insight.Place{Name: "f"}, Saves: 1.5e9, Unit: query.Nanoseconds,
		Says: []insight.Part{{Text: " frees "}, {Value: .98, Unit: insight.Share}, {Text: " of its blocks at once."}},
		Show: insight.Question{Page: "flame", Metric: "temporary", From: 1e9, To: 2500000000, Focus: "^f$"}},
}

// TestGolden shows the sample in every way. The files are named by the options that made them.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(*bytes.Buffer, *profile.Profile) error{
		"report.txt": func(b *bytes.Buffer, p *profile.Profile) error { return Report(b, p, Options{}) },
		"report.color.txt": func(b *bytes.Buffer,
			p *profile.Profile) error {
			return Report(b, p, Options{Color: true, Top: 1})
		},
		"report.top1.frames3.width80.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			return Report(b, p, Options{Top: 1, Frames: 3, Width: 80})
		},
		"report.found.width80.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			return Report(b, p, Options{Top: 1, Frames: 3, Width: 80, Found: standOut, Recording: []string{"a b.htap"}})
		},
		"unmatched.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			profiletest.AddUnmatched(p)
			return Report(b, p, Options{Top: 1})
		},
		"mismatches.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			profiletest.AddMismatches(p)
			return Report(b, p, Options{Top: 1})
		},
		"resident.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			profiletest.AddResident(p)
			return Report(b, p, Options{Top: 1, Frames: 3})
		},
		"resident.summary.width80.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			profiletest.AddResident(p)
			return Summary(b, p, Options{Width: 80})
		},
		"memory.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			profiletest.AddResident(p)
			return Memory(b, p, p.LargestResident(), QueryOptions{})
		},
		"memory.first.txt": func(b *bytes.Buffer, p *profile.Profile) error {
			profiletest.AddResident(p)
			return Memory(b, p, p.ResidentAt(3000), QueryOptions{Options{Exact: true}, answer.Page{Limit: 1}})
		},
		"summary.txt": func(b *bytes.Buffer, p *profile.Profile) error { return Summary(b, p, Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if err := write(&b, profiletest.ServerProfile(t)); err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name, b.Bytes())
			if strings.HasSuffix(name, "report.txt") || name == "summary.txt" {
				for _, l := range strings.Split(b.String(), "\n") {
					if runes(l) > 100 {
						t.Errorf("%d columns: %s", runes(l), l)
					}
				}
			}
		})
	}
}

// TestPools: a line for each pool, of a whole recording only; without any, nothing.
func TestPools(t *testing.T) {
	t.Parallel()
	p := profiletest.ServerProfile(t)
	text := func(o Options) string {
		var b bytes.Buffer
		if err := Report(&b, p, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := text(Options{}); strings.Contains(got, "POOLS") {
		t.Errorf("there are none:\n%s", got)
	}
	p.Pools = profiletest.SomePools
	const want = "    4.10 kB    8.19 kB      100 B    2.00 kB     1.23 M     1.23 M  words\n"
	if got := text(Options{}); !strings.Contains(got, want) {
		t.Errorf("%q is not in\n%s", want, got)
	}
	if got := text(Options{Selection: &query.Selection{Asked: []string{"--to end"},
		Answer: &query.Answer{}}}); strings.Contains(got, "POOLS") {
		t.Errorf("in a selection:\n%s", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	p := profiletest.ServerProfile(t)
	var b bytes.Buffer
	Report(&b, p, Options{})
	if strings.Contains(b.String(), "! ") {
		t.Errorf("warnings without a cause:\n%s", b.String())
	}
	p.Ending.Health.LostEvents = 1
	p.Totals.Unmatched = 1234
	p.Ending.Health.Notes = []string{"a note with \x1b[31m in it"}
	p.Damage = []string{"one", "two"}
	b.Reset()
	Report(&b, p, Options{})
	lines := strings.Split(b.String(), "\n")
	text := strings.Join(strings.Fields(strings.Join(lines[:14], " ")), " ")
	for _, want := range []string{"! the recording is incomplete: one (and 1 more).", "! 1 event could not be recorded",
		"! 1,234 deallocations of addresses that were not live", `! a note with \x1b[31m in it`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not among the first lines:\n%s", want, strings.Join(lines[:14], "\n"))
		}
	}
}
