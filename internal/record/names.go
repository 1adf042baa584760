package record

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/spool"
)

// names hands out the recordings' file names. No two recordings of a run get the same one.
type names struct {
	mu       sync.Mutex
	template string
	used     map[string]bool
}

const defaultName = "%n.%p.htap"

func newNames(output string) *names {
	switch st, err := os.Stat(output); {
	case output == "":
		output = defaultName
	case strings.HasSuffix(output, "/") || err == nil && st.IsDir():
		output = filepath.Join(output, defaultName)
	}
	return &names{template: output, used: map[string]bool{}}
}

// dir returns a folder for what lies beside the recordings.
func (n *names) dir() string {
	d := filepath.Dir(n.template)
	if strings.Contains(d, "%") {
		return "."
	}
	return d
}

// next returns the name of the recording of a process. A name that this run has used gets a number before its ending, from
// 2 on; a file of an earlier run is replaced.
func (n *names) next(pid int, meta *spool.Meta) string {
	program := filepath.Base(meta.Exe)
	if meta.Exe == "" {
		program = "program"
	}
	rank := "none"
	if r, ok := event.Rank(meta.Env); ok {
		rank = strconv.FormatUint(r, 10)
	}
	path := strings.NewReplacer("%p", strconv.Itoa(pid), "%n", program, "%r", rank, "%h", cmp.Or(meta.Host, "host"), "%%", "%").Replace(n.template)
	n.mu.Lock()
	defer n.mu.Unlock()
	stem, ending := path, filepath.Ext(path)
	if ending == ".htap" {
		stem = strings.TrimSuffix(path, ending)
	} else {
		ending = ""
	}
	for i := 2; n.used[path]; i++ {
		path = stem + "." + strconv.Itoa(i) + ending
	}
	n.used[path] = true
	return path
}

func exist(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
