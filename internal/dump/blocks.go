package dump

// Blocks writes the blocks of the file.
func (d *Dumper) Blocks() error {
	if !d.json {
		d.printf("%6s %12s %10s  %-11s %10s %10s %13s %13s %14s %14s %9s\n", "block", "offset", "bytes", "type",
			"events", "from event", "begin", "end", "live before", "peak", "stacks")
	}
	for _, b := range d.r.Blocks() {
		if d.json {
			type change struct {
				Events     uint64 `json:"events"`
				FirstEvent uint64 `json:"first_event"`
				Begin      int64  `json:"begin_ns"`
				End        int64  `json:"end_ns"`
				Live       int64  `json:"live_bytes"`
				LiveBlocks int64  `json:"live_blocks"`
				Peak       int64  `json:"peak_bytes"`
				Stacks     uint64 `json:"stacks"`
				Threads    uint64 `json:"threads,omitempty"`
				Level      int    `json:"level,omitempty"`
			}
			var c *change
			if b.Events > 0 {
				c = &change{b.Events, b.FirstEvent, b.Begin, b.End, b.Live, b.LiveBlocks, b.Peak, b.Stacks, b.Threads,
					b.Level}
			}
			d.object(struct {
				Number uint32 `json:"block"`
				Offset int64  `json:"offset"`
				Size   int64  `json:"bytes"`
				Type   string `json:"type"`
				Folded bool   `json:"folded,omitempty"`
				*change
			}{b.Number, b.Offset, b.Size, b.Type, b.Folded, c})
			continue
		}
		d.printf("%6d %12d %10d  ", b.Number, b.Offset, b.Size)
		folded := ""
		if b.Folded {
			folded = "  folded"
		}
		if b.Events == 0 {
			d.printf("%s%s\n", b.Type, folded)
			continue
		}
		typ := b.Type
		if b.Level > 0 {
			typ += " " + string('0'+rune(b.Level))
		}
		d.printf("%-11s %10d %10d %s %s %14d %14d %9d%s\n", typ, b.Events, b.FirstEvent, Seconds(nil, b.Begin, 13),
			Seconds(nil, b.End, 13), b.Live, b.Peak, b.Stacks, folded)
	}
	return d.err
}
