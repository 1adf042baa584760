package dump

import "github.com/heaptap/heaptap/internal/event"

// Pages writes which pages were in memory, each time that they were read: as text a line for each area.
func (d *Dumper) Pages() error {
	if !d.json {
		d.printf("%14s %16s %16s %14s %14s\n", "time", "start", "end", "bytes", "resident")
	}
	d.r.PageReadings().All(func(p *event.PageReading) bool {
		if d.json {
			d.object(pageReading{p.Time, p.Took, p.PageSize, spans(p.Areas), spans(p.Resident)})
			return d.err == nil
		}
		runs := p.Resident
		for _, a := range p.Areas {
			sum := uint64(0)
			for len(runs) > 0 && runs[0].Start < a.End {
				sum += min(runs[0].End, a.End) - max(runs[0].Start, a.Start)
				if runs[0].End > a.End {
					break // it goes on in the next area
				}
				runs = runs[1:]
			}
			d.printf("%14s %16s %16s %14d %14d\n", Seconds(nil, p.Time, 0), hexText(a.Start), hexText(a.End),
				a.End-a.Start, sum)
		}
		return d.err == nil
	})
	return d.err
}

type pageReading struct {
	Time     int64  `json:"time_ns"`
	Took     int64  `json:"took_ns"`
	PageSize uint64 `json:"page_size"`
	Areas    []span `json:"areas"`
	Resident []span `json:"resident"`
}

// span is a range of addresses.
type span struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

func spans(list []event.AddrRange) []span {
	out := make([]span, len(list))
	for i, r := range list {
		out[i] = span{hexText(r.Start), hexText(r.End)}
	}
	return out
}
