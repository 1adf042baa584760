package questions

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
	"github.com/heaptap/heaptap/tests/need"
)

// pythons are the interpreters of this machine.
func pythons(t *testing.T) (list []string) {
	t.Helper()
	need.Tool(t, "python3")
	first := kit.Run(t, "python3", "-c", "import os, sys; print(os.path.realpath(sys.executable), end='')")
	list = append(list, first)
	if real, err := filepath.EvalSymlinks("/usr/bin/python3"); err == nil && real != first {
		list = append(list, real)
	}
	return list
}

// shimmed gives a user a shim of an interpreter, and the way to find it.
func shimmed(t *testing.T, python string) *user {
	t.Helper()
	u := newUser(t, "python")
	if err := os.WriteFile(filepath.Join(u.dir, "libexec", "version"), []byte(python+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return u.has("PATH=" + filepath.Join(u.dir, "shims") + ":" + filepath.Dir(kit.Binary(t)) + ":" + os.Getenv("PATH"))
}

// TestPython asks where the memory of a script is. `python3` is a shell script that starts others and becomes the
// interpreter in the end.
func TestPython(t *testing.T) {
	t.Parallel()
	for _, python := range pythons(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			t.Parallel()
			u := shimmed(t, python)
			scriptWithPools(u, python)
		})
	}
	shim := need.Tool(t, "python3")
	head, err := os.ReadFile(shim)
	if err == nil && len(head) > 2 && string(head[:2]) == "#!" {
		t.Run("the machine's shim", func(t *testing.T) {
			t.Parallel()
			scriptWithPools(newUser(t, "python"), pythons(t)[0])
		})
	}
}

// scriptWithPools: the objects are in Python's own pools. The first answer is how much that is, and how to look into
// it.
func scriptWithPools(u *user, python string) {
	u.Helper()
	h := u.holds("heaptap run python3 words.py")
	kernel := h.kernel("VmHWM")
	now := u.types("heaptap report")
	now.says(screen, `still running`)
	held := number(u, now.says(screen, `^ +`+quantity+` in Python's own pools: .*PYTHONMALLOC=malloc`)[1])
	a := h.finish().summary()
	a.says(1, `^\S*python3\S* words\.py · `)
	peak := number(u, a.says(screen, `^  resident +`+quantity+` at most`)[1])
	near(u, "resident peak of "+python, peak, kernel, 0.05)
	pools := number(u, a.says(screen, `^ +`+quantity+` in Python's own pools: .*PYTHONMALLOC=malloc`)[1])
	a.says(screen, `^of +.*\(process \d+\)`)

	// Python itself says how many arenas it has.
	stats := u.types(python + " words.py --pools </dev/null")
	arenas := regexp.MustCompile(`\d+ arenas \* \d+ bytes/arena += +([\d,]+)`).FindStringSubmatch(stats.err)
	if arenas == nil {
		u.Fatal(stats.err)
	}
	near(u, "pools of "+python, held, number(u, arenas[1]), 0.1)
	// At the end, too, although Python then gives its arenas back.
	near(u, "pools of "+python+" at the end", pools, held, 0.05)
	near(u, "resident peak without heaptap", peak, u.maximum(python+" words.py"), 0.2)

	// The run is one name in the folder, and commands find it.
	for _, w := range []*user{u, u.wide()} {
		r := w.types("heaptap report").fits()
		r.where(`python3\S* words\.py \(process \d+\), which (the script )?\w+ executed`)
		r.says(1, `^\S*python3\S* words\.py$`)
		near(u, "resident peak in the report", number(u, r.says(screen, `^  resident +`+quantity)[1]), peak, 0.001)
		near(u, "pools in heaptap memory", number(u, w.types("heaptap memory").fits().says(12,
			`^ +`+quantity+` .*Python's own pools`)[1]), pools, 0.01)
		ps := w.types("heaptap ps").fits()
		ps.says(1, `^python3 words\.py$`) // as it was typed
		ps.says(20, quantity+` +`+quantity+` .* (?:→ )?\S*python3\S* words\.py$`)
	}
}

// TestPythonObjects: without its pools, each object is a block, and the first answer is the function that makes them.
func TestPythonObjects(t *testing.T) {
	t.Parallel()
	for _, python := range pythons(t) {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(python))), func(t *testing.T) {
			t.Parallel()
			u := shimmed(t, python).has("PYTHONMALLOC=malloc")
			a := u.types("heaptap run python3 words.py </dev/null").summary()
			a.says(1, `^\S*python3\S* words\.py · `)
			peak := number(u, a.says(2, `^  peak +`+quantity+` in [\d,]+ blocks`)[1])
			a.says(screen, `most live at the peak\n +`+quantity+` +\d\d\.\d %  .*PyUnicode_(?:New|FromASCII)`)
			r := u.types("heaptap report").fits()
			r.says(screen, `^  peak +`+quantity)
			r.says(60, `(?s)^MOST LIVE AT PEAK.{0,30}\n +`+quantity+` +\d\d\.\d %  _?PyUnicode_(?:New|FromASCII)`)

			judge := u.heaptrack(python + " words.py </dev/null")
			near(t, "peak", peak, judge.peak-emergency, 0.02)
			if regexp.MustCompile(`PyUnicode_(New|FromASCII)`).
				FindString(judge.most[:min(len(judge.most), 5000)]) ==
				"" {
				t.Errorf("heaptrack: most is not from PyUnicode_New or its caller:\n%.2000s", judge.most)
			}
		})
	}
}
