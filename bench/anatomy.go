package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// shares holds, by workload and part, how a total divides into parts.
type shares map[string]map[string]float64

// columnBytes returns the bytes of each column of a recording. A block without columns counts as a whole.
func (b *bench) columnBytes(file string) (map[string]float64, error) {
	out, err := exec.Command(b.heaptap, "dump", "--json", file).Output()
	if err != nil {
		return nil, fmt.Errorf("heaptap dump %s: %w", file, err)
	}
	var page struct {
		Parts []struct {
			Type, Column string
			Stored       float64 `json:"bytes"`
		}
	}
	if err := json.Unmarshal(out, &page); err != nil {
		return nil, fmt.Errorf("heaptap dump --json %s: %w", file, err)
	}
	bytes := map[string]float64{}
	for _, p := range page.Parts {
		if p.Column == "" {
			bytes[p.Type] += p.Stored // minus its columns, which follow
		} else {
			bytes[p.Type] -= p.Stored
			name := p.Type + ": " + p.Column
			if p.Type == "events" {
				name = p.Column
			}
			bytes[name] += p.Stored
		}
	}
	return bytes, nil
}

// recorderTime profiles the recorder's benchmark on one trace and returns seconds by part of the recorder.
func recorderTime(traces, name string) (map[string]float64, error) {
	dir, err := os.MkdirTemp("", "heaptap-profile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	prof, bin := filepath.Join(dir, "cpu"), filepath.Join(dir, "record.test")
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "Traces/"+name+"$", "-benchtime", "1s", "-cpu", "1",
		"-cpuprofile", prof, "-o", bin, "github.com/heaptap/heaptap/internal/record")
	cmd.Env = append(os.Environ(), "HEAPTAP_TRACES="+traces)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("profile of %s: %w\n%s", name, err, out)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-unit", "ms", "-nodecount", "100000", "-nodefraction", "0",
		bin, prof).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	times := map[string]float64{}
	in := bufio.NewScanner(bytes.NewReader(out))
	for in.Scan() {
		f := strings.Fields(in.Text()) // flat flat% sum% cum cum% function
		if len(f) < 6 || !strings.HasSuffix(f[0], "ms") {
			continue
		}
		ms, err := strconv.ParseFloat(strings.TrimSuffix(f[0], "ms"), 64)
		if err == nil && ms > 0 {
			times[recorderPart(f[5])] += ms
		}
	}
	return times, nil
}

// recorderPart returns the part of the recorder that a function belongs to: the first with a matching name.
func recorderPart(function string) string {
	for _, p := range []struct{ part, names string }{
		{"compression", "klauspost/ recording.(*packer)"},
		{"reading and writing files", "syscall. runtime/syscall os. poll."},
		{"ledger", "internal/ledger."},
		{"statistics", "internal/tally."},
		{"call stacks", "internal/spool. (*tree) newNode (*process).pc encodeNodes recording.(*Writer).Node"},
		{"columns", "recording.(*encoder) recording.(*threadColumnsOf) recording.(*Writer) recording.append " +
			"recording.(*gaps) recording.(*numbering)"},
		{"summaries, tables", "internal/recording."},
		{"decoding and order of records, clock", "internal/record."},
	} {
		for _, name := range strings.Fields(p.names) {
			if strings.Contains(function, name) {
				return p.part
			}
		}
	}
	return "Go's runtime"
}

// table writes shares: a row for each part, a column for each workload, the largest parts first. Parts below 0.5 % in
// all workloads are one row.
func (s shares) table(b *strings.Builder, what string, names []string,
	format func(workload string, share, sum float64) string) {
	sums, weight := map[string]float64{}, map[string]float64{}
	for _, w := range names {
		for _, v := range s[w] {
			sums[w] += v
		}
		for part, v := range s[w] {
			weight[part] = max(weight[part], v/sums[w])
		}
	}
	var parts []string
	for part, v := range weight {
		if v >= 0.005 {
			parts = append(parts, part)
		}
	}
	sort.Slice(parts, func(i, j int) bool {
		if weight[parts[i]] != weight[parts[j]] {
			return weight[parts[i]] > weight[parts[j]]
		}
		return parts[i] < parts[j]
	})
	fmt.Fprintf(b, "| %s | %s |\n|---|%s\n", what, strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	row := func(name string, value func(w string) float64) {
		b.WriteString("| " + name + " |")
		for _, w := range names {
			b.WriteString(" " + format(w, value(w), sums[w]) + " |")
		}
		b.WriteString("\n")
	}
	for _, part := range parts {
		row(part, func(w string) float64 { return s[w][part] })
	}
	row("rest", func(w string) float64 {
		rest := sums[w]
		for _, part := range parts {
			rest -= s[w][part]
		}
		return max(0, rest)
	})
	row("**all**", func(w string) float64 { return sums[w] })
}

// anatomy writes the section that says where the bytes of the recordings and the recorder's time go.
func (r *results) anatomy(b *strings.Builder) {
	var names []string
	events := map[string]float64{}
	for i := range r.workloads {
		w := &r.workloads[i]
		if m, ok := r.of(w, exact); ok && m.events > 0 && len(r.columns[w.name]) > 0 {
			names = append(names, w.name)
			events[w.name] = m.events
		}
	}
	if len(names) > 0 {
		b.WriteString("\n## Where a recording's bytes go\n\nBytes per event, by column as stored; tables, statistics " +
			"and summaries as `heaptap dump` names them.\n\n")
		r.columns.table(b, "column", names, func(w string, v, _ float64) string {
			return fmt.Sprintf("%.3f", v/events[w])
		})
	}
	names = names[:0]
	for i := range r.workloads {
		if len(r.times[r.workloads[i].name]) > 0 {
			names = append(names, r.workloads[i].name)
		}
	}
	if len(names) > 0 {
		b.WriteString("\n## Where the recorder's time goes\n\nSamples of the recorder's benchmark on the traces " +
			"(spool to recording, one core), in percent.\n\n")
		r.times.table(b, "part", names, func(_ string, v, sum float64) string { return fmt.Sprintf("%.0f", 100*v/sum) })
	}
}
