package gate

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/view"
)

// Formats are the formats in which results can be written.
var Formats = []string{"text", "json", "junit", "github"}

// Output is one format in which results are written, and its text so far.
type Output struct {
	Look   view.QueryOptions // Limit is how many call stacks are shown for each limit that does not hold
	Quiet  bool              // text on w leaves out recordings that keep to all limits
	format string
	file   string // "": to w
	text   bytes.Buffer
	junit  check.JUnit
}

// UnknownFormat is the error of a format that is not one of Formats.
type UnknownFormat struct{ Name string }

func (e *UnknownFormat) Error() string { return fmt.Sprintf("%q is not a format", e.Name) }

// NewOutputs reads FORMAT and FORMAT=FILE. Text goes to w unless another format does.
func NewOutputs(formats []string) (list []*Output, err error) {
	if !slices.ContainsFunc(formats, func(f string) bool { return !strings.Contains(f, "=") }) {
		formats = append([]string{"text"}, formats...)
	}
	for _, f := range formats {
		name, file, to := strings.Cut(f, "=")
		if !slices.Contains(Formats, name) {
			return nil, &UnknownFormat{name}
		}
		if to && file == "" {
			return nil, fmt.Errorf("%s: the name of the file is missing", f)
		}
		list = append(list, &Output{format: name, file: file})
	}
	return list, nil
}

// add adds a result while its recording is open.
func (o *Output) add(r *check.Result) error {
	style := check.Style{Exact: o.Look.Exact, Stacks: o.Look.Limit, Frames: 8}
	switch o.format {
	case "json":
		return answer.Write(&o.text, answer.NewCheck(r, o.Look.Limit))
	case "junit":
		o.junit.Add(r, style)
	case "github":
		return check.WriteGitHub(&o.text, r, repository(), style)
	case "text":
		look := o.Look
		look.Color = look.Color && o.file == ""
		if !o.Quiet || o.file != "" || !r.OK() {
			return view.Checks(&o.text, r, look)
		}
	}
	return nil
}

// write writes everything to the output's file, or to w.
func (o *Output) write(w io.Writer) error {
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

// repository is the folder that file names in annotations are relative to: GitHub's, that of the git repository
// around the working directory, or the working directory.
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
