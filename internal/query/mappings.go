package query

import "slices"

// mappingMetrics are about what the program mapped itself.
var mappingMetrics = []Metric{Mapped, MappedPeak, MappedResident}

// OfMappings reports whether the metric is about what the program mapped itself.
func (m Metric) OfMappings() bool { return slices.Contains(mappingMetrics, m) }

// MappingsKnown reports whether metrics of mappings can be answered. They are stored of the whole run, by call stack.
func (q *Query) MappingsKnown() bool { return q.Range == nil && !q.filtersBlocks() && !q.By.ofBlocks() }

// mappings adds what the program mapped itself.
func (a *ask) mappings(c *cells) {
	c.index()
	if m := a.Profile.Mapped; m != nil {
		for i := range m.Sites {
			s := &m.Sites[i]
			v := &c.at(s.Stack, 0).Values
			v.Mapped, v.MappedPeak = s.Bytes, s.LiveAtPeak
		}
	}
	for stack, bytes := range a.Profile.LargestResident().OfStacks() {
		if stack != 0 {
			c.at(stack, 0).MappedResident = bytes
		}
	}
}
