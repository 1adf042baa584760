package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/query"
)

// CheckRuns checks the recordings of repeated runs of one program together. Name stands for them in the results.
func (g *Gate) CheckRuns(ctx context.Context, name string, files []string) {
	r := &check.Result{File: name}
	sources, err := g.OpenAll(ctx, files)
	for _, s := range sources {
		defer s.Close()
		if why := s.Profile.Unseen(); why != "" && !g.AllowEmpty && err == nil {
			err = fmt.Errorf("%s: nothing was recorded: %s; --allow-empty lets it pass", s.Reader.Name(), why)
		}
	}
	if err == nil {
		r.Source = sources[0]
		if r.Checks, r.Suppressed, err = g.AskRuns(ctx, sources); err == nil {
			g.note(r, sources...)
		}
	}
	r.Err = err
	g.add(r)
}

// OpenAll opens the recordings that arguments stand for, one for each. Of a run, that is the program that the user
// named, or the sum of those that Processes choose. Even if there is an error, the caller closes those that it returns.
func (g *Gate) OpenAll(ctx context.Context, files []string) (list []*query.Source, err error) {
	finder := input.Finder{Version: g.Version, Programs: g.Processes, All: g.All, Sure: true}
	for _, file := range files {
		s, err := finder.One(ctx, file)
		if err != nil {
			return list, err
		}
		list = append(list, s)
	}
	return list, nil
}

// Failed is the error of a command that did not end with status 0.
type Failed struct {
	Run     int
	Command string
	Status  int
}

func (e *Failed) Error() string {
	return fmt.Sprintf("run %d: %s ended with status %d: nothing was checked", e.Run, e.Command, e.Status)
}

// Record runs a command n times with this heaptap, each time in the same way, and returns the runs. They are put into a
// folder as COMMAND.1.htap and so on. What the command prints goes to stderr, since stdout is for results; it has no
// input.
func (g *Gate) Record(ctx context.Context, command []string, n int, folder string) (runs []string, err error) {
	heaptap, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for i := 1; i <= n; i++ {
		to := filepath.Join(folder, fmt.Sprintf("%s.%d.htap", filepath.Base(command[0]), i))
		run := exec.CommandContext(ctx, heaptap, append([]string{"run", "-q", "--require", "-o",
			strings.ReplaceAll(to, "%", "%%"), "--"}, command...)...)
		run.Stdout, run.Stderr = os.Stderr, os.Stderr
		var exit *exec.ExitError
		if err := run.Run(); errors.As(err, &exit) && exit.ExitCode() > 0 {
			return nil, &Failed{i, command[0], exit.ExitCode()}
		} else if err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
		if _, err := os.Stat(to); err != nil {
			return nil, fmt.Errorf("run %d: nothing was recorded", i)
		}
		runs = append(runs, to)
	}
	return runs, nil
}
