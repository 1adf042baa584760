package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// rect is a bar's rectangle, as parsed from the XML.
type rect struct{ x, y, width, height float64 }

// drawn parses a picture and returns its bars, its texts and its size.
func drawn(t *testing.T, svg string) (bars []rect, texts []string, width, height float64) {
	t.Helper()
	number := func(e xml.StartElement, name string) float64 {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				v, err := strconv.ParseFloat(a.Value, 64)
				if err != nil {
					t.Fatalf("<%s %s=%q>: %v", e.Name.Local, name, a.Value, err)
				}
				return v
			}
		}
		return 0
	}
	in := xml.NewDecoder(strings.NewReader(svg))
	for inText := false; ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return bars, texts, width, height
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
			switch e.Name.Local {
			case "svg":
				width, height = number(e, "width"), number(e, "height")
			case "rect":
				bars = append(bars, rect{number(e, "x"), number(e, "y"), number(e, "width"), number(e, "height")})
			}
		case xml.CharData:
			if inText {
				texts = append(texts, string(e))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestChart(t *testing.T) {
	c := chart{title: "a < b & \"c\"", note: "note", columns: 2, log: true, from: 1, panels: []panel{
		{"one", []bar{{"x", "10", ours, 10}, {"y", "1000", rival, 1000}, {"z", "-3", ours, -3}}},
		{"two", []bar{{"x", "crashes", rival, math.NaN()}, {"y", "100", baseline, 100}}},
		{"three", []bar{{"x", "1", ours, 1}}},
	}}
	bars, texts, width, height := drawn(t, c.svg())
	if bars[0].width != width || bars[0].height != height {
		t.Errorf("the ground is %v, the picture %v x %v", bars[0], width, height)
	}
	bars = bars[1:]
	if len(bars) != 5 {
		t.Fatalf("%d bars, want 5: what crashes has none", len(bars))
	}
	long := bars[1].width
	for i, want := range []float64{long / 3, long, shortest, long * 2 / 3, shortest} {
		if math.Abs(bars[i].width-want) > .1 {
			t.Errorf("bar %d is %.1f long, want %.1f", i, bars[i].width, want)
		}
	}
	for _, b := range bars {
		if b.x < 0 || b.y < 0 || b.x+b.width > width || b.y+b.height > height {
			t.Errorf("bar %v is outside of the picture", b)
		}
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, c.title) || !strings.Contains(all, "crashes") {
		t.Errorf("texts are missing in:\n%s", all)
	}
	if !strings.Contains(c.svg(), "prefers-color-scheme: dark") {
		t.Error("there are no colours for the dark")
	}
}

func TestLinearChart(t *testing.T) {
	c := chart{columns: 1, panels: []panel{{"p", []bar{{"a", "", ours, 2}, {"b", "", ours, 4}, {"c", "", ours, 0}}}}}
	bars, _, _, _ := drawn(t, c.svg())
	if long := bars[2].width; math.Abs(bars[1].width-long/2) > .1 || bars[3].width != shortest {
		t.Errorf("bars of 2, 4 and 0 are %v", bars[1:])
	}
}
