package formats

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// WriteList writes what each format keeps and loses, for people, in lines of at most width characters.
func WriteList(w io.Writer, width int) error {
	hanging := func(b *strings.Builder, head, text string) {
		indent := utf8.RuneCountInString(head)
		fmt.Fprintf(b, "%s%s\n", head, wrap(text, width-indent, "\n"+strings.Repeat(" ", indent)))
	}
	var b strings.Builder
	for i, f := range All {
		if i > 0 {
			b.WriteByte('\n')
		}
		hanging(&b, "", fmt.Sprintf("%s (%s), for %s", f.Name, f.Extension, f.Tool))
		line := func(name, text string) {
			if text != "" {
				hanging(&b, fmt.Sprintf("  %-8s ", name), text)
			}
		}
		line("keeps", f.Keeps)
		line("loses", f.Loses)
		line("in", f.In)
		line("metrics", metricChoice(f))
		line("by", strings.Join(Groupings(f), ", "))
		for i, v := range f.Variants {
			name := f.Name + ":" + v.Name
			if i == 0 {
				name = f.Name
			}
			hanging(&b, fmt.Sprintf("  -f %-24s ", name), v.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// wrap breaks text into lines of at most width characters, where it can.
func wrap(text string, width int, newline string) string {
	var b strings.Builder
	room := width
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case n >= room:
			b.WriteString(newline)
			room = width
		default:
			b.WriteByte(' ')
			room--
		}
		b.WriteString(word)
		room -= n
	}
	return b.String()
}

// metricChoice says which metrics a format writes, and whether others may be asked for.
func metricChoice(f *export.Format) string {
	switch names := strings.Join(metricNames(f.Metrics), ", "); {
	case f.Metrics == nil:
		return ""
	case f.One:
		return names + ", or another one (--metric)"
	default:
		return names + ", or others (--metric)"
	}
}

// Description is what a format keeps and loses, for programs.
type Description struct {
	Name      string    `json:"name"`
	Tool      string    `json:"tool"`
	Extension string    `json:"extension"`
	Binary    bool      `json:"binary"`
	Keeps     string    `json:"keeps"`
	Loses     string    `json:"loses"`
	In        string    `json:"in"`      // what heaptap import takes back; "": nothing
	Metrics   []string  `json:"metrics"` // by default; [] if the format leaves no choice
	One       bool      `json:"one_metric"`
	By        []string  `json:"by"` // the first is the default; [] if the format leaves no choice
	Variants  []Variant `json:"variants"`
}

// Variant is a form of a format.
type Variant struct {
	Name      string `json:"name"`
	Text      string `json:"text"`
	Extension string `json:"extension"`
}

// Describe describes all formats.
func Describe() []Description {
	list := []Description{}
	for _, f := range All {
		d := Description{f.Name, f.Tool, f.Extension, f.Binary, f.Keeps, f.Loses, f.In, metricNames(f.Metrics), f.One,
			append([]string{}, Groupings(f)...), []Variant{}}
		for _, v := range f.Variants {
			d.Variants = append(d.Variants, Variant{v.Name, v.Text, f.FileExtension(v)})
		}
		list = append(list, d)
	}
	return list
}

func metricNames(list []query.Metric) []string {
	names := []string{}
	for _, m := range list {
		names = append(names, m.String())
	}
	return names
}

// Groupings are the names of a format's groupings.
func Groupings(f *export.Format) (names []string) {
	for _, by := range f.By {
		names = append(names, by.String())
	}
	return names
}
