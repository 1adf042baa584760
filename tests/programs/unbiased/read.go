package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os/exec"
	"strconv"
)

// stack identifies a call stack: a hash of its frames' modules and of the offsets in these.
type stack uint64

// above returns the stack that this one calls from that address.
func (s stack) above(module, offset string) stack {
	h := fnv.New64a()
	fmt.Fprintf(h, "%x %s %s", uint64(s), module, offset)
	return stack(h.Sum64())
}

// sum is the sum of a call stack's allocations, by metric: the value and its variance.
type sum struct{ value, variance [metrics]float64 }

const metrics = 2

var metricNames = [metrics]string{"allocations", "bytes"}

func (s *sum) add(o sum) {
	for m := range metrics {
		s.value[m] += o.value[m]
		s.variance[m] += o.variance[m]
	}
}

// expected is the true sum of a call stack, and what sampling promises: the mean number of samples, and the variance of
// the estimates.
type expected struct {
	sum
	samples float64
}

// add adds an allocation, which is sampled with probability 1 - exp(-size / mean).
func (e *expected) add(size float64, mean uint64) {
	p := -math.Expm1(-max(size, 1) / float64(mean))
	e.samples += p
	e.sum.add(sum{[metrics]float64{1, size}, [metrics]float64{(1 - p) / p, size * size * (1 - p) / p}})
}

// expectations reads an exact recording.
func expectations(ctx context.Context, heaptap, file string, mean uint64) (map[stack]*expected, error) {
	all := map[stack]*expected{}
	err := allocations(ctx, heaptap, file, func(key stack, line []byte) error {
		size, err := number(line, `"size":`)
		if all[key] == nil {
			all[key] = &expected{}
		}
		all[key].add(size, mean)
		return err
	})
	return all, err
}

// estimates reads a sampled recording; `heaptap top` must report the same totals. An allocation that stands for n
// allocations of b bytes in all adds n (n - 1) and b (b - size) to the variances.
func estimates(ctx context.Context, heaptap, file string) (map[stack]sum, error) {
	all := map[stack]sum{}
	var whole sum
	err := allocations(ctx, heaptap, file, func(key stack, line []byte) error {
		var e struct {
			Size, Weight float64
			WeightBytes  float64 `json:"weight_bytes"`
			Sampled      bool
		}
		err := json.Unmarshal(line, &e)
		if !e.Sampled {
			e.Weight, e.WeightBytes = 1, e.Size
		}
		one := sum{[metrics]float64{e.Weight, e.WeightBytes}, [metrics]float64{e.Weight * (e.Weight - 1),
			e.WeightBytes * (e.WeightBytes - e.Size)}}
		s := all[key]
		s.add(one)
		all[key] = s
		whole.add(one)
		return err
	})
	if err != nil {
		return nil, err
	}
	var top struct{ Total map[string]float64 }
	args := []string{"top", "--limit", "1", "--metric", "allocations,bytes", "--json", file}
	if err := lines(ctx, heaptap, args, func(line []byte) error { return json.Unmarshal(line, &top) }); err != nil {
		return nil, err
	}
	for m, name := range metricNames {
		value, deviation := top.Total[name], top.Total[name+"_standard_error"]
		if value != whole.value[m] || math.Abs(deviation-math.Sqrt(whole.variance[m])) > 1e-6*deviation {
			return nil, fmt.Errorf("heaptap top says %.0f ± %g %s, the samples %.0f ± %g", value, deviation, name,
				whole.value[m], math.Sqrt(whole.variance[m]))
		}
	}
	return all, nil
}

// allocations calls each with every allocation of a recording.
func allocations(ctx context.Context, heaptap, file string, each func(stack, []byte) error) error {
	modules, nodes := map[int]string{}, map[int]stack{}
	err := lines(ctx, heaptap, []string{"dump", "--modules", "--json", file}, func(line []byte) error {
		var m struct {
			Module int
			Path   string
		}
		defer func() { modules[m.Module] = m.Path }()
		return json.Unmarshal(line, &m)
	})
	if err != nil {
		return err
	}
	err = lines(ctx, heaptap, []string{"dump", "--stacks", "--json", file}, func(line []byte) error {
		var n struct {
			Stack, Parent, Module int
			Offset                string
		}
		defer func() { nodes[n.Stack] = nodes[n.Parent].above(modules[n.Module], n.Offset) }()
		return json.Unmarshal(line, &n)
	})
	if err != nil {
		return err
	}
	alloc := []byte(`"kind":"alloc"`)
	return lines(ctx, heaptap, []string{"dump", "--events", "--json", file}, func(line []byte) error {
		if !bytes.Contains(line, alloc) {
			return nil
		}
		node, err := number(line, `"stack":`)
		if err != nil {
			return err
		}
		return each(nodes[int(node)], line)
	})
}

// number returns the number that follows key.
func number(line []byte, key string) (float64, error) {
	_, rest, _ := bytes.Cut(line, []byte(key))
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	v, err := strconv.ParseFloat(string(rest[:n]), 64)
	if err != nil {
		return 0, fmt.Errorf("%s: no number after %s", line, key)
	}
	return v, nil
}

// lines calls each with every line that heaptap prints.
func lines(ctx context.Context, heaptap string, args []string, each func([]byte) error) error {
	cmd := exec.CommandContext(ctx, heaptap, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s := bufio.NewScanner(out)
	s.Buffer(nil, 1<<30)
	for err == nil && s.Scan() {
		err = each(s.Bytes())
	}
	if err == nil {
		err = s.Err()
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("heaptap %v: %w", args, ended)
	}
	return err
}
