package view

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/check"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

// ChecksGitHub writes what does not hold as workflow commands of GitHub Actions: an annotation for each stack of an excess, on the first
// of its frames that is neither the runtime's nor the standard library's; without stacks, one of no place. root is the folder of the repository.
func ChecksGitHub(w io.Writer, r *check.Result, root string, o QueryOptions) error {
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
		text := fmt.Sprintf("%s: %s", clean(r.File), checkText(c, o.Exact))
		list, left := shown(c, &o)
		if left > 0 && len(list) > 0 {
			text += fmt.Sprintf(" (%s more have a part)", humanize.Plural(uint64(left), "call stack"))
		}
		if len(list) == 0 {
			annotate(out, "", 0, title, text)
		}
		for k := range list {
			file, line := place(r.Source.Frames(list[k].ID), root)
			annotate(out, file, line, title, text+"\n"+strings.TrimSuffix(stackText(r.Source, c, &list[k], &o), "\n"))
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

// escapeData makes text safe as the message of a workflow command, escapeProperty as a property's value: as the toolkit of GitHub
// Actions (@actions/core) does.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// place is where the program's own code first comes in a stack, leaf to root, that has a source file; "" if nowhere.
func place(frames []profile.Frame, root string) (file string, line uint32) {
	for i := range frames {
		f := &frames[i]
		if f.Function != "" && f.File != "" && !Library(f) {
			return inRepository(f.File, root), f.Line
		}
	}
	return "", 0
}

// inRepository is a source file's name relative to the repository: from its folder on, or, if it was compiled elsewhere, the longest end of the
// name that is a file there. Else it stays as it is.
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
