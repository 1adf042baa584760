package names

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/spool"
)

// Template hands out the recordings' file names. Any goroutine may use it.
type Template struct {
	mu       sync.Mutex
	template string
	used     map[string]bool
}

const defaultName = "%n.%p.htap"

// NewTemplate takes what the user asked for: a template, an existing folder, or "" for the default.
func NewTemplate(output string) *Template {
	switch st, err := os.Stat(output); {
	case output == "":
		output = defaultName
	case strings.HasSuffix(output, "/") || err == nil && st.IsDir():
		output = filepath.Join(output, defaultName)
	}
	return &Template{template: output, used: map[string]bool{}}
}

// NewRun takes the name of a run, a template: an existing folder of that name is an earlier run.
func NewRun(name string) *Template { return &Template{template: name, used: map[string]bool{}} }

// Reserve keeps a name from being handed out.
func (t *Template) Reserve(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used[path] = true
}

// Folder returns a folder for what lies beside the recordings.
func (t *Template) Folder() string {
	d := filepath.Dir(t.template)
	if strings.Contains(d, "%") {
		return "."
	}
	return d
}

// Next returns the name of the recording of a process. A name that this run has used gets a number before its ending,
// from 2 on; a file of an earlier run is replaced.
func (t *Template) Next(pid int, meta *spool.Meta) string {
	program := Program(meta)
	rank := "none"
	if r, ok := event.Rank(meta.Env); ok {
		rank = strconv.FormatUint(r, 10)
	}
	path := t.expand(pid, program, rank, meta.Host)
	t.mu.Lock()
	defer t.mu.Unlock()
	stem, ending := path, filepath.Ext(path)
	if ending == ".htap" {
		stem = strings.TrimSuffix(path, ending)
	} else {
		ending = ""
	}
	for i := 2; t.used[path]; i++ {
		path = stem + "." + strconv.Itoa(i) + ending
	}
	t.used[path] = true
	return path
}

// Run returns the name of a run: by its target's process id, and by the command as the user wrote it.
func (t *Template) Run(pid int, command []string, rank, host string) string {
	program := "program"
	if len(command) > 0 {
		program = filepath.Base(command[0])
	}
	return t.expand(pid, program, cmp.Or(rank, "none"), host)
}

func (t *Template) expand(pid int, program, rank, host string) string {
	return expand(t.template, map[byte]string{
		'p': strconv.Itoa(pid), 'n': program, 'r': rank, 'h': cmp.Or(host, "host"), '%': "%",
	})
}

// Program is the name by which a program was called, if that leads to the file that is executed, as sh does to
// dash; else the file's own.
func Program(meta *spool.Meta) string {
	if meta.Exe == "" {
		return "program"
	}
	program := filepath.Base(meta.Exe)
	if len(meta.Args) == 0 {
		return program
	}
	called := strings.TrimPrefix(meta.Args[0], "-") // of a login shell
	name := filepath.Base(called)
	if called == "" || name == program || name == "." || name == "/" {
		return program
	}
	exe, err := os.Stat(meta.Exe)
	if err != nil {
		return program
	}
	places := []string{filepath.Dir(meta.Exe)}
	if strings.Contains(called, "/") {
		if !filepath.IsAbs(called) {
			called = filepath.Join(meta.Dir, called)
		}
		places = []string{filepath.Dir(called)}
	} else {
		places = append(places, filepath.SplitList(os.Getenv("PATH"))...)
	}
	for _, dir := range places {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && os.SameFile(st, exe) {
			return name
		}
	}
	return program
}

// expand puts values for the placeholders of a path. Programs and hosts choose their names themselves: so a value never
// adds an element to the path, and an element with a placeholder is never "", "." or "..", nor longer than a file's
// name may be.
func expand(template string, values map[byte]string) string {
	elements := strings.Split(template, "/")
	for i, e := range elements {
		if !strings.Contains(e, "%") {
			continue
		}
		var b strings.Builder
		for at := 0; at < len(e); at++ {
			if e[at] == '%' && at+1 < len(e) {
				if v, ok := values[e[at+1]]; ok {
					b.WriteString(Plain(v))
					at++
					continue
				}
			}
			b.WriteByte(e[at])
		}
		if e = b.String(); e == "" || e == "." || e == ".." {
			e = "_"
		}
		elements[i] = e
	}
	return strings.Join(elements, "/")
}

// longestValue bounds a placeholder's value, in bytes. A file's name has at most 255.
const longestValue = 100

// Plain makes a value one that no file system and no terminal takes for more than a name.
func Plain(value string) string {
	value = strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsControl(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '_'
		}
		return r
	}, value)
	for len(value) > longestValue {
		_, n := utf8.DecodeLastRuneInString(value)
		value = value[:len(value)-n]
	}
	return value
}
