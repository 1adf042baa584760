package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// picture is a chart and the name of its file.
type picture struct {
	file  string
	chart chart
}

// pictures returns the charts of the main part of the page.
func (r *results) pictures() []picture {
	loops := r.costChart(chart{title: "What recording adds to a pair of malloc and free", columns: 3, log: true,
		from: 1, note: "CPU time per pair beside a library that only forwards, for empty monitor and measured: " +
			"beside exact; logarithmic, from 1 ns"}, loopPanels)
	programs := r.costChart(chart{title: "Programs: CPU time against the bare run", columns: 2,
		note: "the target's own CPU time, user and system; empty monitor and measured: against exact"}, programPanels)
	return withBars([]picture{{"loops.svg", loops}, {"threads.svg", r.threadChart()}, {"programs.svg", programs}})
}

// slowPictures returns the charts of the slow rivals.
func (r *results) slowPictures() []picture {
	loops := r.costChart(chart{title: "Slow rivals: what is added to a pair of malloc and free", columns: 3, log: true,
		from: 1, note: "CPU time per pair beside a library that only forwards, or beside the same allocator without " +
			"its profiler; logarithmic, from 1 ns"}, loopPanels)
	programs := r.costChart(chart{title: "Slow rivals: programs, CPU time against the bare run", columns: 2, log: true,
		from: 1, note: "the target's own CPU time, or against the same allocator without its profiler; logarithmic, " +
			"from 1x"}, programPanels)
	return withBars([]picture{{"slow-loops.svg", loops}, {"slow-programs.svg", programs}})
}

// The workloads that have a panel, and the panel's title.
var (
	loopPanels    = [][2]string{{"W1", "depth 10"}, {"depth 60", "depth 60"}, {"depth 500", "depth 500"}}
	programPanels = [][2]string{{"cc1plus", "cc1plus"}, {"python", "python"}, {"sqlite", "sqlite"}, {"redis", "redis"}}
)

func withBars(all []picture) []picture {
	var some []picture
	for _, p := range all {
		if len(p.chart.panels) > 0 {
			some = append(some, p)
		}
	}
	return some
}

// costChart adds to a chart a panel of costs for each workload that was measured.
func (r *results) costChart(c chart, panels [][2]string) chart {
	for _, name := range panels {
		w := r.workload(name[0])
		if w == nil {
			continue
		}
		p := panel{title: name[1]}
		for i := range r.variants {
			v := &r.variants[i]
			if v.class == baseline || v.class == reference {
				continue
			}
			value := math.NaN()
			if f, ok := r.cost(w, v); ok {
				value = f.median
			}
			p.bars = append(p.bars, bar{name: v.name, text: r.cell(w, v), class: v.class, value: value})
		}
		c.panels = append(c.panels, p)
	}
	return c
}

// threadChart returns the chart of the CPU time per pair by number of threads, with a panel for each variant.
func (r *results) threadChart() chart {
	c := chart{title: "W1 on several threads: CPU time per pair", columns: 3, log: true, from: 1,
		note: "that of the whole pair, not only what is added; logarithmic, from 1 ns"}
	for i := range r.variants {
		v := &r.variants[i]
		if v.class == reference {
			continue
		}
		p := panel{title: v.name}
		for _, w := range r.threaded() {
			if m, ok := r.of(w, v.name); ok {
				p.bars = append(p.bars, bar{name: threadsText(w.threads), text: duration(m.perUnit()), class: v.class,
					value: m.perUnit()})
			}
		}
		if len(p.bars) > 1 {
			c.panels = append(c.panels, p)
		}
	}
	return c
}

// threaded returns the workloads that differ only in the number of threads.
func (r *results) threaded() (all []*workload) {
	for i := range r.workloads {
		if w := &r.workloads[i]; w.threads > 0 {
			all = append(all, w)
		}
	}
	return all
}

func threadsText(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// chartFolder returns the folder of a page's pictures: beside the page, with its name.
func chartFolder(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) }

func writePictures(page string, all []picture) error {
	dir := chartFolder(page)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range all {
		if err := os.WriteFile(filepath.Join(dir, p.file), []byte(p.chart.svg()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// show writes the lines that embed pictures in a page.
func show(b *strings.Builder, page string, all []picture) {
	for _, p := range all {
		fmt.Fprintf(b, "![%s](%s/%s)\n\n", p.chart.title, filepath.Base(chartFolder(page)), p.file)
	}
}
