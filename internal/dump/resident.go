package dump

import "github.com/heaptap/heaptap/internal/escape"

// Resident writes what the resident set consisted of, each time that it was read.
func (d *Dumper) Resident() error {
	if !d.json {
		d.printf("%14s %-8s %14s %14s %10s %s\n", "time", "kind", "bytes", "size", "stack", "file")
	}
	for _, p := range d.r.Resident() {
		if d.json {
			d.object(struct {
				Time  int64  `json:"time_ns"`
				Kind  string `json:"kind"`
				Bytes uint64 `json:"bytes"`
				Size  uint64 `json:"size"`
				Stack uint32 `json:"stack,omitempty"`
				File  string `json:"file,omitempty"`
			}{p.Time, p.Kind.String(), p.Bytes, p.Size, p.Stack, p.Name})
			continue
		}
		d.printf("%14s %-8s %14d %14d %10d %s\n", Seconds(nil, p.Time, 0), p.Kind, p.Bytes, p.Size, p.Stack,
			escape.Terminal(p.Name))
	}
	return d.err
}
