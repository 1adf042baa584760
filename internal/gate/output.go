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
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/view"
)

// Formats are the formats in which results can be written.
var Formats = []string{"text", "json", "junit", "github"}

// Output is one format in which results are written, and its text so far.
type Output struct {
	Look   view.QueryOptions // Limit is how many call stacks are shown for each limit that does not hold
	Quiet  bool              // text on w leaves out recordings that keep to all limits
	Screen int               // text on w has at most that many lines, and the rest goes to File; 0: no limit
	format string
	file   string // "": to w
	text   bytes.Buffer
	plain  bytes.Buffer // text without colours, if Screen limits it
	failed bytes.Buffer // the part of text that is about recordings that exceed a limit
	junit  check.JUnit
}

// RestFile is the file for text that does not fit onto the screen.
const RestFile = "heaptap-check.txt"

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
		if o.Quiet && o.file == "" && r.OK() {
			return nil
		}
		return o.addText(r, look)
	}
	return nil
}

// reset drops all results.
func (o *Output) reset() {
	o.text.Reset()
	o.plain.Reset()
	o.failed.Reset()
	o.junit = check.JUnit{}
}

func (o *Output) addText(r *check.Result, look view.QueryOptions) error {
	begin := o.text.Len()
	if err := view.Checks(&o.text, r, look); err != nil {
		return err
	}
	if !r.OK() {
		o.failed.Write(o.text.Bytes()[begin:])
	}
	if o.file != "" || o.Screen == 0 {
		return nil
	}
	look.Color = false
	return view.Checks(&o.plain, r, look)
}

// fit shortens the text to a screen, on which what failed comes first, and writes all of it to RestFile. If that
// cannot be written, the text stays as it is.
func (o *Output) fit() {
	all := bytes.Count(o.text.Bytes(), []byte("\n"))
	if o.Screen == 0 || o.format != "text" || o.file != "" || all <= o.Screen {
		return
	}
	if outfile.File(RestFile, func(w io.Writer) error {
		_, err := w.Write(o.plain.Bytes())
		return err
	}) != nil {
		return
	}
	from := o.text.Bytes()
	if o.failed.Len() > 0 {
		from = o.failed.Bytes()
	}
	lines := bytes.SplitAfterN(from, []byte("\n"), o.Screen) // one less than fits
	lines = lines[:min(len(lines), o.Screen-1)]
	shown := bytes.Join(lines, nil)
	o.text.Reset()
	o.text.Write(shown)
	fmt.Fprintf(&o.text, "and %s: %s\n", humanize.Plural(uint64(all-len(lines)), "more line"), RestFile)
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
	o.fit()
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
