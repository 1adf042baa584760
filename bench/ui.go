package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// The section on what the web app asks. A separate run measures it; all other runs keep it.
const uiHeading = "## What the web app asks\n"

// A question is asked so often, or for so long, each time about another range or page, so that no answer is a cached
// one.
const (
	uiRounds = 60
	uiTime   = 4 * time.Second
)

// bound is what a measurement may be at most, or must be at least.
type bound struct {
	of       string // the recording that it is for; "": all
	value    float64
	quantile float64 // at which it holds
	least    bool
}

// missed reports whether a measured value is worse.
func (b bound) missed(v float64) bool {
	if b.least {
		return v < b.value
	}
	return v > b.value
}

// row is a line of the table.
type row struct {
	name  string
	unit  string // "": ms
	goals []bound
}

// middle, late and atLeast are the usual goals.
func middle(most float64) []bound   { return []bound{{value: most, quantile: .5}} }
func late(most float64) []bound     { return []bound{{value: most, quantile: .95}} }
func atLeast(least float64) []bound { return []bound{{value: least, quantile: .5, least: true}} }

// cell is a question as the app asks it.
type cell struct {
	row
	query func(a *asker) string
}

// asker is who asks one recording.
type asker struct {
	rng       *rand.Rand
	functions []string
}

// cells are the questions that need no events, or few.
var cells = []cell{
	{row{"timeline, about 400 steps, whole, rough", "", late(60)}, func(a *asker) string {
		return fmt.Sprintf("process?rough=pixel&steps=%d", 300+a.rng.IntN(200))
	}},
	{row{"timeline, about 400 steps, whole, exact", "", late(60)}, func(a *asker) string {
		return fmt.Sprintf("process?steps=%d", 300+a.rng.IntN(200))
	}},
	{row{"timeline, 400 steps, of a range, rough", "", late(60)}, func(a *asker) string {
		return "process?rough=pixel&steps=400" + a.between()
	}},
	{row{"timeline, 400 steps, of a range, exact", "", late(60)}, func(a *asker) string {
		return "process?steps=400" + a.between()
	}},
	{row{"call tree of a range, rough, 2,000 nodes", "", middle(8)}, func(a *asker) string {
		return "tree?metric=bytes&threshold=0&nodes=2000&rough=pixel" + a.between()
	}},
	{row{"table of a range, rough, 200 rows", "", middle(8)}, func(a *asker) string {
		return "top?by=function&metric=bytes&limit=200&rough=pixel" + a.between()
	}},
	{row{"curve of one function over the run", "", middle(5)}, func(a *asker) string {
		name := a.functions[a.rng.IntN(len(a.functions))]
		return "curve?" + url.Values{"of": {"^" + regexp.QuoteMeta(name) + "$"}}.Encode()
	}},
	{row{"call tree of a range, exact, six metrics", "", []bound{{of: "P", value: 12, quantile: .5},
		{of: "1e9", value: 30, quantile: .95}}},
		func(a *asker) string { return "tree?metric=allocations,bytes,freed,live,peak,temporary" + a.between() }},
	{row{"20,000 nodes of a range", "", middle(60)}, func(a *asker) string {
		return "tree?metric=bytes&threshold=0&nodes=20000" + a.between()
	}},
	{row{"20,000 nodes of callers, of the run", "", middle(60)}, func(a *asker) string {
		return fmt.Sprintf("tree?up&metric=bytes&threshold=0&nodes=%d", 19_900+a.rng.IntN(100))
	}},
	{row{"100,000 nodes of a range", "", middle(250)}, largestTreeOfRange},
	{row{"100,000 nodes of callers, of the run", "", middle(250)}, largestTree},
	{row{"table by call stack: 200 rows anywhere, by any column", "", late(20)}, func(a *asker) string {
		return "top?by=stack" + a.page(5000)
	}},
	{row{"table by line: the same, with a text", "", late(20)}, func(a *asker) string {
		return fmt.Sprintf("top?by=line&match=%c", 'a'+a.rng.IntN(26)) + a.page(1000)
	}},
}

func largestTree(a *asker) string {
	return fmt.Sprintf("tree?up&metric=bytes&threshold=0&nodes=%d", 99_900+a.rng.IntN(100))
}

func largestTreeOfRange(a *asker) string {
	return "tree?metric=bytes&threshold=0&nodes=100000" + a.between()
}

// eventCells are the questions that have to read events: most of the run, so that they take long.
var eventCells = []cell{
	{row{"leaked of a range", perEvents, middle(4)}, func(a *asker) string {
		return "top?by=function&metric=leaked" + a.nearlyAll()
	}},
	{row{"own peak", perEvents, middle(4)}, func(a *asker) string {
		return "top?by=function&metric=own-peak" + a.nearlyAll()
	}},
	{row{"by thread", perEvents, middle(4)}, func(a *asker) string {
		return "top?by=thread&metric=allocations,bytes" + a.nearlyAll()
	}},
	{row{"by size", perEvents, middle(4)}, func(a *asker) string {
		return "top?by=size&metric=allocations,bytes" + a.nearlyAll()
	}},
	{row{"blocks that lived up to 1 ms", perEvents, middle(4)}, func(a *asker) string {
		return "top?by=function&metric=allocations,bytes&lifetime=..1ms" + a.nearlyAll()
	}},
	{row{"distribution of lifetimes and sizes", perEvents, middle(4)}, func(a *asker) string {
		return "hist?" + strings.TrimPrefix(a.nearlyAll(), "&")
	}},
}

const perEvents = "s per 10^8 events"

// What is measured beside the answers.
var (
	firstLineRow = row{"questions about events: first progress, or the answer", "", late(300)}
	cancelRow    = row{"the same: the server goes on after the client has disconnected", "", late(50)}
	treeMemory   = row{"memory for trees of 100,000 nodes, beyond the idle server's", "MB", middle(150)}
	listensRow   = row{"from the start to an open socket", "", middle(150)}
	memoryRow    = row{"the server's largest resident set", "MB", middle(300)}

	processesRow    = row{"all processes on one axis: `heaptap ps --timeline`", "", middle(100)}
	askProcessesRow = row{"the same over HTTP: `ps?timeline`", "", middle(100)}
)

// recordingRows and runRows are the lines of the tables of recordings, and of runs of many processes.
func recordingRows() (all []row) {
	for _, c := range append(cells[:len(cells):len(cells)], eventCells...) {
		all = append(all, c.row)
	}
	return append(all, firstLineRow, cancelRow, treeMemory, listensRow, memoryRow)
}

var runRows = []row{processesRow, askProcessesRow}

// between returns the parameters of a random range.
func (a *asker) between() string {
	x, y := a.rng.Float64(), a.rng.Float64()
	return fromTo(min(x, y), max(x, y))
}

// nearlyAll returns the parameters of a range with nearly all events.
func (a *asker) nearlyAll() string { return fromTo(a.rng.Float64()/100, 1-a.rng.Float64()/100) }

func fromTo(from, to float64) string {
	percent := func(share float64) string { return fmt.Sprintf("%.4f%%", 100*share) }
	return "&" + url.Values{"from": {percent(from)}, "to": {percent(to)}}.Encode()
}

// page returns the parameters of a random page of a table, sorted by a random column.
func (a *asker) page(skip int) string {
	columns := []string{"bytes", "allocations", "freed", "peak", "leaked", "temporary"}
	page := fmt.Sprintf("&metric=%s&sort=%s&limit=200&skip=%d", strings.Join(columns, ","),
		columns[a.rng.IntN(len(columns))], a.rng.IntN(skip))
	if a.rng.IntN(2) == 1 {
		page += "&reverse"
	}
	return page
}

// uiMeasured is how a recording, or a run of many processes, answered.
type uiMeasured struct {
	name, what string
	values     map[string][]float64 // by row, in its unit
}

// askUI measures recordings and writes the section. Without files, it measures those of folder, which it makes.
func (b *bench) askUI(out, folder string, files []string) error {
	names, whats := []string(nil), make([]string, len(files))
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".htap"))
	}
	if len(files) == 0 {
		made, err := b.recordings(folder)
		if err != nil {
			return err
		}
		for _, m := range subjects {
			names, whats, files = append(names, m.name), append(whats, m.what), append(files, made[m.name])
		}
	}
	var recordings, runs []*uiMeasured
	for i, file := range files {
		st, err := os.Stat(file)
		if err != nil {
			return err
		}
		m := &uiMeasured{name: names[i], what: whats[i], values: map[string][]float64{}}
		measure, list := b.measureUI, &recordings
		if st.IsDir() {
			measure, list = b.measureRun, &runs
		}
		if err := measure(m, file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		*list = append(*list, m)
	}
	return writeSection(out, uiHeading, uiSection(recordings, runs))
}

// add adds a measurement; seconds become ms.
func (m *uiMeasured) add(r row, value float64) {
	if r.unit == "" {
		value *= 1e3
	}
	m.values[r.name] = append(m.values[r.name], value)
}

// report says how far the benchmark is.
func (m *uiMeasured) report(r row) {
	v := m.values[r.name]
	fmt.Fprintf(os.Stderr, "%-10s %-60s %8.1f, 95th percentile %8.1f %s (%d)\n", m.name, r.name, median(v),
		quantile(v, .95), unitOf(r), len(v))
}

func unitOf(r row) string {
	if r.unit == "" {
		return "ms"
	}
	return r.unit
}

// repeat calls f so often, and for so long, as a question is asked.
func repeat(f func() error) error {
	began := time.Now()
	for i := 0; i < uiRounds && (i == 0 || time.Since(began) < uiTime); i++ {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// measureUI starts servers for a recording and asks the last one everything.
func (b *bench) measureUI(m *uiMeasured, file string) error {
	if err := b.measureStart(m, file); err != nil {
		return err
	}
	s, err := b.startServer(file)
	if err != nil {
		return err
	}
	defer s.stop()
	var about struct {
		Answer struct{ Events, Stacks float64 }
	}
	if err := s.ask("about", &about); err != nil {
		return err
	}
	if m.what != "" {
		m.what += ", "
	}
	m.what += fmt.Sprintf("%.1f million events, %.0f call stacks", about.Answer.Events/1e6, about.Answer.Stacks)
	a, err := newAsker(s)
	if err != nil {
		return err
	}
	for _, c := range cells {
		if err := s.warm(c.query(a)); err != nil { // its first answer may have to decode events, or await the atlas
			return err
		}
		err := repeat(func() error {
			began := time.Now()
			_, _, err := s.get(c.query(a))
			m.add(c.row, time.Since(began).Seconds())
			return err
		})
		if err != nil {
			return err
		}
		m.report(c.row)
	}
	if err := m.measureEvents(s, a); err != nil {
		return err
	}
	m.add(memoryRow, s.stop()/1e6)
	m.report(memoryRow)
	return nil
}

// measureStart measures how soon a server listens, and what memory a fresh one takes for large trees.
func (b *bench) measureStart(m *uiMeasured, file string) error {
	for range 9 {
		s, err := b.startServer(file)
		if err != nil {
			return err
		}
		m.add(listensRow, s.listens)
		s.stop()
	}
	m.report(listensRow)
	s, err := b.startServer(file)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.warm("curve?of=."); err != nil { // opens the recording and awaits its atlas
		return err
	}
	idle, err := s.memory("VmRSS")
	if err != nil {
		return err
	}
	if err := s.forgetPeak(); err != nil {
		return err
	}
	a := &asker{rng: rand.New(rand.NewPCG(1, 2))}
	for range 10 {
		for _, tree := range []func(*asker) string{largestTree, largestTreeOfRange} {
			if _, _, err := s.get(tree(a)); err != nil {
				return err
			}
		}
	}
	most, err := s.memory("VmHWM")
	if err != nil {
		return err
	}
	m.add(treeMemory, (most-idle)/1e6)
	m.report(treeMemory)
	return nil
}

// newAsker returns an asker who knows the names of the functions that allocated most.
func newAsker(s *server) (*asker, error) {
	var top struct {
		Answer struct {
			Rows struct {
				Columns struct {
					Group struct {
						Fields struct{ Function struct{ Text []int } }
					}
				}
			}
		}
		Texts []string
	}
	if err := s.ask("top?by=function&metric=bytes&limit=1000", &top); err != nil {
		return nil, err
	}
	a := &asker{rng: rand.New(rand.NewPCG(1, 2))}
	for _, i := range top.Answer.Rows.Columns.Group.Fields.Function.Text {
		if i > 0 && i < len(top.Texts) && top.Texts[i] != "" {
			a.functions = append(a.functions, top.Texts[i])
		}
	}
	if len(a.functions) == 0 {
		return nil, errors.New("the table of functions has no names")
	}
	return a, nil
}

// measureEvents asks what has to read events, and disconnects while the server does.
func (m *uiMeasured) measureEvents(s *server, a *asker) error {
	for _, c := range eventCells {
		err := repeat(func() error {
			began := time.Now()
			text, first, err := s.get(c.query(a))
			if err != nil {
				return err
			}
			took := time.Since(began).Seconds()
			n, err := eventsOf(text)
			m.add(firstLineRow, first)
			m.add(c.row, took/n*1e8)
			return err
		})
		if err != nil {
			return err
		}
		m.report(c.row)
		for range 10 {
			after := 20*time.Millisecond + time.Duration(a.rng.Int64N(int64(300*time.Millisecond)))
			went, ok, err := s.cancel(c.query(a), after)
			if err != nil {
				return err
			}
			if ok {
				m.add(cancelRow, went)
			}
		}
	}
	m.report(firstLineRow)
	m.report(cancelRow)
	return nil
}

// measureRun asks for all processes of a run.
func (b *bench) measureRun(m *uiMeasured, folder string) error {
	err := repeat(func() error {
		began := time.Now()
		out, err := exec.Command(b.heaptap, "ps", "--timeline", folder).CombinedOutput()
		if err != nil {
			return fmt.Errorf("heaptap ps --timeline: %w\n%s", err, out)
		}
		m.add(processesRow, time.Since(began).Seconds())
		return nil
	})
	if err != nil {
		return err
	}
	m.report(processesRow)
	s, err := b.startServer(folder)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.warm("ps?timeline"); err != nil {
		return err
	}
	err = repeat(func() error {
		began := time.Now()
		_, _, err := s.get("ps?timeline")
		m.add(askProcessesRow, time.Since(began).Seconds())
		return err
	})
	m.report(askProcessesRow)
	return err
}
