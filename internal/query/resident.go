package query

// Resident returns the largest resident set that was sampled in each step; without a sample, that of the step before.
// It is false if the recording has no samples.
func (t *Series) Resident(s *Source) ([]float64, bool) {
	out := make([]float64, len(t.Times)-1)
	known := false
	last := 0.
	samples := s.Reader.Samples()
	k := 0
	for i := range out {
		most := -1.
		toEnd := i == len(out)-1 && t.To == s.last
		for ; k < len(samples) && (samples[k].Time <= t.Times[i+1] || toEnd); k++ {
			if samples[k].RSS < 0 {
				continue
			}
			if last = float64(samples[k].RSS); samples[k].Time > t.Times[i] {
				most = max(most, last)
			}
			known = true
		}
		out[i] = max(most, 0)
		if most < 0 {
			out[i] = last
		}
	}
	return out, known
}
