package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// questions are the questions asked of a large recording, as command lines without the file.
var questions = []string{
	"report", "top", "top --by stack --metric peak,leaked,temporary", "tree", "tree --up", "tree --of json", "leaks",
	"dump", "dump --stacks",
	"top --from 25% --to 75%", "top --metric live --at 50%", "timeline", "timeline --top 5",
	"timeline --from 30% --to 60%", "dump --events --from 50% --to 50.1%",
	"top --metric own-peak", "top --by thread", "top --by size", "top --by allocator", "top --metric time",
	"top --lifetime ..1ms", "hist", "leaks --from 50%", "threads", "check --max-peak 1T --max-leaked 1T", "verify",
}

// asked is the cost of a question.
type asked struct {
	question, plan string
	wall, cpu      float64 // s
	memory         float64 // bytes: the largest resident set
}

// large is a recording of a real program, and the questions asked of it.
type large struct {
	events, bytes float64
	asked         []asked
}

// askLarge records that many events and asks all questions.
func (b *bench) askLarge(events float64) (*large, error) {
	file := filepath.Join(b.dir, "large.htap")
	if err := b.recordLoop(events, file); err != nil {
		return nil, err
	}
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	l := &large{bytes: float64(st.Size())}
	for _, q := range questions {
		a := asked{question: q}
		var walls, cpus []float64
		for range 3 {
			if err := b.ask(&a, l, file); err != nil {
				return nil, err
			}
			walls, cpus = append(walls, a.wall), append(cpus, a.cpu)
			if a.wall > 1 {
				break
			}
		}
		a.wall, a.cpu = median(walls), median(cpus)
		l.asked = append(l.asked, a)
		fmt.Fprintf(os.Stderr, "%-50s %6.2f s, %6.2f s CPU\n", "heaptap "+q, a.wall, a.cpu)
	}
	return l, nil
}

// ask asks a question once, for JSON.
func (b *bench) ask(a *asked, l *large, file string) error {
	args := append(strings.Fields(a.question), "--json", file)
	times := filepath.Join(b.dir, "asked")
	// A small program starts the command, because the kernel's largest resident set of a process includes the time
	// before exec.
	cmd := exec.Command(b.cpu, append([]string{times, "--", b.heaptap}, args...)...)
	answered := filepath.Join(b.dir, "answer.json")
	out, err := os.Create(answered) // not a pipe: the report has 80 MB, and would wait for its reader
	if err != nil {
		return err
	}
	defer os.Remove(answered)
	defer out.Close()
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("heaptap %s: %w", strings.Join(args, " "), err)
	}
	defer os.Remove(times)
	use, err := readUse(times)
	if err != nil {
		return err
	}
	a.wall, a.cpu, a.memory = use.wall, use.cpu, use.memory
	var answer struct {
		Plan  string
		Range struct {
			To float64 `json:"to_event"`
		}
	}
	// dump prints lines, verify a format of its own
	if text, err := os.ReadFile(answered); err == nil && json.Unmarshal(text, &answer) == nil {
		a.plan, l.events = answer.Plan, max(l.events, answer.Range.To)
	}
	return nil
}

// table writes the table of the questions' costs.
func (l *large) table(b *strings.Builder) {
	fmt.Fprintf(b, "\n## Questions at 10^8 events\n\nThe python workload for longer: %.1fM events, %.1f MB. Each "+
		"command is a process of its own, asked for JSON into a file. *Plan* is where the answer comes from "+
		"([queries.md](queries.md#where-an-answer-comes-from)): without one, the command reads what it shows. "+
		"Goal: 300 ms where no single events are needed. In bold: worse.\n\n", l.events/1e6, l.bytes/1e6)
	b.WriteString("| command | plan | wall | CPU | largest resident set |\n|---|---|--:|--:|--:|\n")
	for _, a := range l.asked {
		wall := fmt.Sprintf("%.2f s", a.wall)
		if a.wall > .3 && (a.plan == "tally" || a.plan == "summaries" || a.question == "report") {
			wall = "**" + wall + "**"
		}
		fmt.Fprintf(b, "| heaptap %s | %s | %s | %.2f s | %.0f MB |\n", a.question, a.plan, wall, a.cpu, a.memory/1e6)
	}
}
