package replaychart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/replay"
)

// resident is what was resident at five moments.
func resident(scale float64) *replay.Resident {
	m := &replay.Resident{Peak: replay.Spread{Median: 100 * scale}}
	for i := range int64(5) {
		m.Curve = append(m.Curve, replay.CurvePoint{Time: i * 1e6, Live: uint64(10 * i), RSS: float64(20*i) * scale})
	}
	return m
}

// TestChart: the picture is XML whatever names contain, has a curve for each reading of an allocator, and no number
// that is none.
func TestChart(t *testing.T) {
	hostile := "</title><script>alert(1)</script>\xff\x00" + strings.Repeat("x", 500)
	rows := []*replay.Row{
		{Allocator: replay.Allocator{Name: "glibc"}, First: resident(1), All: resident(2)},
		{Allocator: replay.Allocator{Name: hostile[:40]}, First: resident(3)},
		{Allocator: replay.Allocator{Name: "nothing"}},
	}
	for _, c := range []struct {
		rows   []*replay.Row
		curves int
	}{{rows, 3}, {rows[2:], 0}, {nil, 0}} {
		var b bytes.Buffer
		plan := &replay.Plan{Calls: 7, Threads: 1}
		if err := Write(&b, hostile, &replay.Results{Plan: plan, Runs: 1, Rows: c.rows}); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		curves := 0
		d := xml.NewDecoder(&b)
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if e.Name.Local == "script" {
				t.Error("a name became an element")
			}
			for _, a := range e.Attr {
				if e.Name.Local == "path" && a.Name.Local == "d" && strings.Contains(a.Value, "L") {
					curves++
				}
			}
		}
		if curves != c.curves || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%d curves of %d in\n%s", curves, c.curves, text)
		}
	}
}
