package check

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

// WriteGitHub writes the failed checks as workflow commands of GitHub Actions: an annotation for each call stack of an
// excess, at its first frame that belongs neither to the runtime nor to the standard library. A check without call
// stacks has one annotation without a place. root is the repository's folder.
func WriteGitHub(w io.Writer, r *Result, root string, style Style) error {
	out := bufio.NewWriter(w)
	if r.Err != nil {
		annotate(out, "", 0, "heaptap: not checked", r.Err.Error())
		return out.Flush()
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		if !c.Failed {
			continue
		}
		title := "heaptap: " + c.Name()
		text := fmt.Sprintf("%s: %s", escape.Terminal(r.File), c.Text(style.Exact))
		list, more := c.First(style.Stacks)
		if more > 0 && len(list) > 0 {
			text += fmt.Sprintf(" (%s more have a part)", humanize.Plural(uint64(more), "call stack"))
		}
		if len(list) == 0 {
			annotate(out, "", 0, title, text)
		}
		for k := range list {
			file, line := place(c.Source.Frames(list[k].ID), root)
			annotate(out, file, line, title, text+"\n"+strings.TrimSuffix(stackText(c.Source, c, &list[k], &style),
				"\n"))
		}
	}
	return out.Flush()
}

// annotate writes one workflow command.
func annotate(w io.Writer, file string, line uint32, title, text string) {
	where := ""
	if file != "" {
		where = "file=" + escapeProperty(file) + ","
		if line > 0 {
			where += fmt.Sprintf("line=%d,", line)
		}
	}
	fmt.Fprintf(w, "::error %stitle=%s::%s\n", where, escapeProperty(title), escapeData(text))
}

// escapeData escapes text for the message of a workflow command, and escapeProperty for the value of a property, as the
// toolkit of GitHub Actions (@actions/core) does.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// place returns the source file and line of the innermost frame of the program's own code; "" if no frame has a source
// file.
func place(frames []profile.Frame, root string) (file string, line uint32) {
	for i := range frames {
		f := &frames[i]
		if f.Function != "" && f.File != "" && !profile.Library(f) {
			return inRepository(f.File, root), f.Line
		}
	}
	return "", 0
}

// inRepository makes the name of a source file relative to the repository. If the file was compiled elsewhere, the
// longest end of its path that is a file in the repository is used. Any other name stays as it is.
func inRepository(file, root string) string {
	file = filepath.Clean(file)
	if !filepath.IsAbs(file) {
		return file
	}
	if rel, err := filepath.Rel(root, file); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		return rel
	}
	for rest := file[1:]; ; {
		if st, err := os.Stat(filepath.Join(root, rest)); err == nil && st.Mode().IsRegular() {
			return rest
		}
		_, after, ok := strings.Cut(rest, "/")
		if !ok {
			return file
		}
		rest = after
	}
}
