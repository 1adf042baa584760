package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// scriptName names the workload of many short processes. What counts there is wall time: that of the whole script,
// until heaptap run has returned and all recordings are complete.
const (
	scriptName   = "a script of 80 short commands"
	scriptGoal   = 1.3
	scriptRounds = 10
)

// scriptRound is eight commands, as scripts have them.
const scriptRound = `ls -l / >ls.txt
grep -c root /etc/passwd >grep.txt
sed -n 1,5p /etc/passwd >sed.txt
cut -d: -f1 /etc/passwd >cut.txt
sort /etc/passwd >sort.txt
gcc --version >gcc.txt
gcc -c one.c
python3 -c 'import json'
`

// script is how long the script takes alone and with heaptap run, run by run.
type script struct{ bare, recorded []sample }

// runScript runs the script in both ways, in turn. It returns nil if the machine lacks a program for it.
func (b *bench) runScript(reps int) (s *script, missing string, err error) {
	for _, name := range []string{"gcc", "python3"} {
		if _, err := exec.LookPath(name); err != nil {
			return nil, scriptName + " (" + err.Error() + ")", nil
		}
	}
	s = new(script)
	for range reps {
		alone, err := b.scriptOnce()
		if err != nil {
			return nil, "", err
		}
		recorded, err := b.scriptOnce(b.heaptap, "run", "-q", "--")
		if err != nil {
			return nil, "", err
		}
		s.bare, s.recorded = append(s.bare, alone), append(s.recorded, recorded)
	}
	fmt.Fprintf(os.Stderr, "%-16s %s\n", scriptName, s.row())
	return s, "", nil
}

// scriptOnce runs the script behind a command.
func (b *bench) scriptOnce(behind ...string) (s sample, err error) {
	dir, err := os.MkdirTemp(b.dir, "script-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "one.c"), []byte("int one(void) { return 1; }\n"), 0o644); err != nil {
		return s, err
	}
	file := filepath.Join(dir, "script.sh")
	if err := os.WriteFile(file, []byte("set -e\n"+strings.Repeat(scriptRound, scriptRounds)), 0o644); err != nil {
		return s, err
	}
	args := append(behind, "sh", file)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	start := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return s, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	s.wall = time.Since(start).Seconds()
	s.cpuNs, s.units = s.wall*1e9, 1 // what paired compares
	return s, reapOrphans(30 * time.Second)
}

// ratio is how many times as long the script takes with heaptap run.
func (s *script) ratio() figure {
	return figureOf(paired(s.recorded, s.bare, func(a, base float64) float64 { return a / base }))
}

// row is the script's row in the table of goals.
func (s *script) row() string {
	f := s.ratio()
	result := fmt.Sprintf("%.2fx ± %.2f", f.median, f.spread)
	if f.median > scriptGoal {
		result = "**" + result + "**"
	}
	return fmt.Sprintf("| %s: wall time | %s | %.2fx | %.2fx | %s |", scriptName, exact, scriptGoal, scriptGoal, result)
}

const scriptHeading = "## Many short processes\n"

// section describes the script and its wall times.
func (s *script) section() string {
	walls := func(list []sample) float64 {
		var v []float64
		for _, s := range list {
			v = append(v, s.wall)
		}
		return median(v)
	}
	commands := strings.Split(strings.TrimSpace(scriptRound), "\n")
	f := s.ratio()
	return fmt.Sprintf("%s\nA shell script of %d short commands, %d times these: `%s`. It takes %.2f s alone, and "+
		"%.2f s with `heaptap run` until all recordings are complete: %.2fx ± %.2f (goal: %.2fx). Machine: %s.\n\n",
		scriptHeading, len(commands)*scriptRounds, scriptRounds, strings.Join(commands, "`, `"), walls(s.bare),
		walls(s.recorded), f.median, f.spread, scriptGoal, machine())
}
