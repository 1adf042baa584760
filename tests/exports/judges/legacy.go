package main

import pprof "github.com/google/pprof/profile"

// readLegacy reads a profile of any form that google/pprof knows, and adds up its values by their types.
func readLegacy(b []byte) (any, error) {
	p, err := pprof.ParseData(b)
	if err != nil {
		return nil, err
	}
	sums := map[string]int64{}
	for _, s := range p.Sample {
		for i, v := range s.Value {
			sums[p.SampleType[i].Type] += v
		}
	}
	return sums, nil
}
