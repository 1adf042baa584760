package monitor

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/launch"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/view"
)

// Run writes the results of the monitors that act at the end, for each recording. It warns of what fails, and returns
// how many regions exceeded a budget.
func (all *Monitors) Run(ctx context.Context, result *launch.Result, console *launch.Console) (over int) {
	defer all.live.close()
	for _, m := range all.list {
		act := m.atEnd()
		if act == nil {
			continue
		}
		for _, r := range result.Recordings {
			s, err := query.Open(r.Path)
			if err == nil && all.live.finish(m, r.Path, s) {
				err = s.Close()
			} else if err == nil {
				err = m.output(r.Path, r.PID, console, func(w io.Writer) error {
					n, err := act(ctx, w, s)
					over += n
					return err
				})
				err = errors.Join(err, s.Close())
			}
			if err != nil {
				console.Warn("--monitor %s: %s: %v", m.name, outfile.Relative(r.Path), err)
			}
		}
	}
	return over
}

// action writes a monitor's result for a recording, and returns how many regions exceeded a budget.
type action func(ctx context.Context, w io.Writer, s *query.Source) (over int, err error)

// atEnd returns the monitor's action when the run has ended; nil: none.
func (m *monitor) atEnd() action {
	o := view.QueryOptions{}
	quiet := func(write func(context.Context, io.Writer, *query.Source) error) action {
		return func(ctx context.Context, w io.Writer, s *query.Source) (int, error) { return 0, write(ctx, w, s) }
	}
	switch m.name {
	case "summary":
		return quiet(func(_ context.Context, w io.Writer, s *query.Source) error { return view.MonitorSummary(w, s) })
	case "periodic":
		return quiet(m.wholePeriodic)
	case "histogram":
		return quiet(func(ctx context.Context, w io.Writer, s *query.Source) error {
			h, err := query.Distribute(ctx, s, &query.Query{})
			if err != nil {
				return err
			}
			return view.MonitorHistogram(w, s, h)
		})
	case "regions":
		return quiet(func(ctx context.Context, w io.Writer, s *query.Source) error { return m.regions(ctx, w, s, o) })
	case "budget":
		return m.budget
	case "transient":
		return quiet(func(ctx context.Context, w io.Writer, s *query.Source) error {
			list, err := query.Transients(ctx, s)
			if err != nil {
				return err
			}
			o.Limit = 20
			if n, err := humanize.ParseCount(m.options["limit"]); err == nil {
				o.Limit = int(n)
			}
			return view.Transients(w, s, list, o)
		})
	}
	return nil
}

// table returns the regions that the monitor is about.
func (m *monitor) table(ctx context.Context, s *query.Source, limits *query.RegionLimits) (*query.RegionTable, error) {
	q := &query.Query{}
	if pattern := m.options["region"]; pattern != "" {
		q.Regions = []string{pattern}
	}
	return query.RegionsWithin(ctx, s, q, limits)
}

func (m *monitor) regions(ctx context.Context, w io.Writer, s *query.Source, o view.QueryOptions) error {
	t, err := m.table(ctx, s, nil)
	if err != nil {
		return err
	}
	t.Sort(m.options["sort"])
	switch m.options["format"] {
	case "json":
		return answer.Write(w, answer.NewRegions(s, t, o.Page))
	case "trace":
		return answer.WriteRegionsTrace(w, s, t)
	}
	return view.Regions(w, s, t, m.options["sort"] == "", o)
}

// limits returns the limits of a budget.
func (m *monitor) limits() []query.RegionLimit {
	var list []query.RegionLimit
	for _, l := range query.Budgets {
		parse := humanize.ParseCount
		if l.Bytes {
			parse = humanize.ParseSize
		}
		var err error
		if l.Most, err = parse(m.options[l.What]); err == nil {
			list = append(list, l)
		}
	}
	return list
}

func (m *monitor) budget(ctx context.Context, w io.Writer, s *query.Source) (int, error) {
	limits, most := m.limits(), query.RegionLimits{Allocations: math.MaxUint64, Requested: math.MaxUint64}
	for _, l := range limits {
		switch l.What {
		case "allocations":
			most.Allocations = uint64(l.Most)
		case "requested":
			most.Requested = uint64(l.Most)
		}
	}
	t, err := m.table(ctx, s, &most)
	if err != nil {
		return 0, err
	}
	over := t.Over(limits)
	return len(over), view.Budget(w, s, over)
}
