// Package dhat writes data files of DHAT, Valgrind's heap profiler, in version 2 of their format, which dh_view.html
// reads. For each call stack they have what was allocated there, its own peak, what was live at the process's peak and
// at the end, and the lifetimes.
//
// Call stacks with the same names are one in the format. Their common own peak and their lifetimes are therefore
// computed from the events. As in DHAT, a block that was not freed lived to the end.
package dhat

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/query"
)

// Format is DHAT's data files.
var Format = export.Format{
	Name:      "dhat",
	Tool:      "DHAT's viewer, dh_view.html",
	Extension: ".dhat.json",
	Keeps: "by call stack: allocations, bytes, own peak and blocks then, live at the peak and at the end, the sum of " +
		"lifetimes in ns; lines, inlined functions",
	In: "all but lifetimes",
	Loses: "temporary, reallocations, threads; accesses to blocks, which are not recorded; needs the events of the " +
		"whole range",
	Write: write,
}

// shortLived is the mean lifetime, in ns, up to which the viewer calls blocks short-lived.
const shortLived = 10_000

var metrics = []query.Metric{query.Allocations, query.Bytes, query.Deallocations, query.Peak, query.PeakBlocks,
	query.Live, query.LiveBlocks}

func write(ctx context.Context, out io.Writer, in *export.Input) error {
	t, err := in.Stacks(ctx, metrics...)
	if err != nil {
		return err
	}
	p := newPoints(in, t)
	if err := p.follow(ctx); err != nil {
		return err
	}
	peakTime, err := in.Reader.TimeAt(t.PeakAt)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, `{"dhatFileVersion":2,"mode":"heap","verb":"Allocated",`+
		`"bklt":true,"bkacc":false,"tu":"ns","Mtu":"ms","tuth":%d`, shortLived)
	fmt.Fprintf(w, "\n,\"cmd\":%s,\"pid\":%d,\"te\":%d,\"tg\":%d\n,\"pps\":[",
		text(strings.Join(in.Reader.Process().Args, " ")), in.Reader.Process().PID, t.Span, max(peakTime-t.Begin, 0))
	for i, pp := range p.list {
		if i > 0 {
			w.WriteString("\n,")
		}
		pp.write(w)
	}
	w.WriteString("]\n,\"ftbl\":[\"[root]\"")
	for _, name := range p.frames.List() {
		fmt.Fprintf(w, "\n,%s", text(name))
	}
	w.WriteString("]}\n")
	return w.Flush()
}

func (p *point) write(w io.Writer) {
	v := &p.Values
	fmt.Fprintf(w, `{"tb":%d,"tbk":%d,"tl":%s,"mb":%d,"mbk":%d,"gb":%d,"gbk":%d,"eb":%d,"ebk":%d,"fs":[`, v.Bytes,
		v.Allocations, p.lifetime.String(), p.most, p.mostBlocks, v.PeakBytes, v.PeakBlocks, v.LiveBytes, v.LiveBlocks)
	for i, f := range p.frames {
		if i > 0 {
			io.WriteString(w, ",")
		}
		fmt.Fprint(w, f)
	}
	io.WriteString(w, "]}")
}

// text returns a JSON string.
func text(s string) []byte {
	b, _ := json.Marshal(s) // a string can always be encoded
	return b
}
