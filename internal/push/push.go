// Package push sends recordings to servers that collect profiles of many programs. A Store is such a server. It gets
// profiles in an export format, of a whole recording or of slices of it. The packages below this one are the stores,
// and ClickHouse, which gets tables.
//
//	pyroscope  profiles of pprof, over HTTP
//	parca      profiles of pprof, over gRPC
//	otlp       OpenTelemetry's profiles, over gRPC or HTTP
//	clickhouse tables, over HTTP
package push

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// Store is a server that keeps profiles.
type Store interface {
	// Push sends the profile that answers the input's question, with the input's labels. The caller has set in.Period.
	Push(ctx context.Context, in *export.Input) error
}

// Written returns a profile as a format writes it.
func Written(ctx context.Context, f *export.Format, in *export.Input) ([]byte, error) {
	var b bytes.Buffer
	if err := f.Write(ctx, &b, in); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Labels returns the labels by which stores distinguish series of profiles, sorted by name: the profile's name, the
// service (the program's name), the host and the process id. The input's labels replace these; one without a value
// removes the label.
func Labels(in *export.Input) []export.Label {
	p := in.Reader.Process()
	list := []export.Label{{Name: "__name__", Value: "memory"}, {Name: "service_name", Value: in.Program()},
		{Name: "hostname", Value: p.Host}}
	if p.PID != 0 {
		list = append(list, export.Label{Name: "pid", Value: fmt.Sprint(p.PID)})
	}
	for _, l := range in.Labels {
		list = slices.DeleteFunc(list, func(old export.Label) bool { return old.Name == l.Name })
		list = append(list, l)
	}
	list = slices.DeleteFunc(list, func(l export.Label) bool { return l.Value == "" })
	slices.SortFunc(list, func(a, b export.Label) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// maxSlices is the most slices into which a recording may be cut.
const maxSlices = 100_000

// Slice is a part of a recording.
type Slice struct {
	Range  query.Range
	Period export.Period
}

// Slices cuts the range of a question into slices of equal time; the last one may be shorter. Each event is in exactly
// one slice.
func Slices(in *export.Input, every time.Duration) ([]Slice, error) {
	r := in.Reader
	first, last := r.Cuts()
	whole := query.Range{From: first, To: last}
	if in.Query.Range != nil {
		whole = *in.Query.Range
	}
	begin, err := r.TimeAt(whole.From)
	if err != nil {
		return nil, err
	}
	end := int64(0)
	if ending, ok := r.Ending(); ok && whole.To == last {
		end = ending.End
	} else if end, err = r.TimeAt(whole.To); err != nil {
		return nil, err
	}
	if n := (end - begin) / int64(every); n >= maxSlices {
		return nil, fmt.Errorf("%s: slices of %v would be %d; the limit is %d", r.Name(), every, n+1, maxSlices)
	}
	var list []Slice
	for from := whole.From; ; {
		s := Slice{query.Range{From: from, To: whole.To}, export.Period{Begin: begin, Span: end - begin}}
		if s.Period.Span <= int64(every) {
			return append(list, s), nil
		}
		s.Period.Span = int64(every)
		begin += int64(every)
		if s.Range.To, err = r.CutAt(begin); err != nil {
			return nil, err
		}
		s.Range.To = min(max(s.Range.To, from), whole.To)
		from = s.Range.To
		list = append(list, s)
	}
}
