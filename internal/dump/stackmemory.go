package dump

// StackMemory writes the readings of the depth of the threads' stacks.
func (d *Dumper) StackMemory() error {
	if !d.json {
		d.printf("%14s %8s %-8s %14s %10s\n", "time", "thread", "measure", "bytes", "stack")
	}
	for _, u := range d.r.StackUse() {
		if d.json {
			d.object(struct {
				Time    int64  `json:"time_ns"`
				Thread  uint32 `json:"thread"`
				Measure string `json:"measure"`
				Bytes   uint64 `json:"bytes"`
				Stack   uint32 `json:"stack,omitempty"`
			}{u.Time, u.Thread, u.Measure.String(), u.Bytes, u.Stack})
			continue
		}
		d.printf("%14s %8d %-8s %14d %10d\n", Seconds(nil, u.Time, 0), u.Thread, u.Measure.String(), u.Bytes, u.Stack)
	}
	return d.err
}
