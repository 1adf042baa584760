package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/view"
)

var gateFormats = []string{"text", "json", "junit", "github"}

// output is one form in which results are printed, and what there is of it.
type output struct {
	format, file string // file "": stdout
	text         bytes.Buffer
	junit        check.JUnit
}

// readFormats makes the outputs. Text goes to stdout unless something else does.
func (g *gate) readFormats(cmd *cobra.Command) error {
	formats := g.formats
	if g.json {
		formats = append(formats, "json")
	}
	if !slices.ContainsFunc(formats, func(f string) bool { return !strings.Contains(f, "=") }) {
		formats = append([]string{"text"}, formats...)
	}
	for _, f := range formats {
		name, file, to := strings.Cut(f, "=")
		if !slices.Contains(gateFormats, name) {
			return unknownWord(cmd, "format", name, gateFormats)
		}
		if to && file == "" {
			return usagef("%s: --format %s: into which file?", cmd.Name(), f)
		}
		g.outputs = append(g.outputs, &output{format: name, file: file})
	}
	return nil
}

// add adds a result while its recording is open.
func (o *output) add(r *check.Result, g *gate) error {
	look := g.look
	if o.file != "" {
		look.Color = false
	}
	style := check.Style{Exact: look.Exact, Stacks: look.Limit, Frames: 8}
	switch o.format {
	case "json":
		return answer.Write(&o.text, answer.NewCheck(r, look.Limit))
	case "junit":
		o.junit.Add(r, style)
	case "github":
		return check.WriteGitHub(&o.text, r, repository(), style)
	case "text":
		if !g.quiet || o.file != "" || !r.OK() {
			return view.Checks(&o.text, r, look)
		}
	}
	return nil
}

// write writes everything to the output's file, or to w.
func (o *output) write(w io.Writer) error {
	if o.format == "junit" {
		if err := o.junit.Write(&o.text); err != nil {
			return err
		}
	}
	if o.file != "" {
		return os.WriteFile(o.file, o.text.Bytes(), 0o666)
	}
	_, err := w.Write(o.text.Bytes())
	return err
}

// repository is the folder that annotations' paths begin in: GitHub's, that of the git repository around the working directory, or the
// working directory.
func repository() string {
	if dir := os.Getenv("GITHUB_WORKSPACE"); dir != "" {
		return dir
	}
	here, err := os.Getwd()
	if err != nil {
		return "/"
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return here
		}
	}
}
