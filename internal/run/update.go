package run

// mostUpdated bounds how many recordings Update opens.
const mostUpdated = 100

// Update reads the peaks of programs that still run from their recordings: the index has them when they end.
func (r *Run) Update() {
	if !r.Live() {
		return
	}
	left := mostUpdated
	for i := range r.programs {
		p := &r.programs[i]
		if !p.Running() || left == 0 {
			continue
		}
		left--
		if rec, err := r.OpenProgram(i); err == nil {
			p.learn(rec)
			if sum, err := rec.Tally(); err == nil {
				p.PeakLive, p.Leaked = signed(sum.Totals.Peak.Bytes), signed(sum.Totals.LiveBytes)
				p.Events = sum.Totals.Events
			}
			rec.Close()
		}
	}
}
