package valgrind

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// form is the form of a frame.
var form = regexp.MustCompile(`^0x([0-9A-Fa-f]+): (.*?)(?: \(in ([^()]+)\)| \(([^()]+):(\d+)\))?$`)

// TestParse compares parse with the form, for texts made of its pieces.
func TestParse(t *testing.T) {
	pieces := []string{"0x", "1aF", ": ", "f", " ", "(", ")", "in ", "/bin/a", "a.c", ":", "12", "operator()", "\n",
		"???", " (in /lib/b)", " (a.c:3)"}
	random := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for range 200_000 {
		var b strings.Builder
		if random.IntN(4) > 0 {
			b.WriteString("0x4F: ")
		}
		for range random.IntN(8) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := b.String()
		f, ok := parse(text)
		m := form.FindStringSubmatch(text)
		switch {
		case ok != (m != nil):
			t.Fatalf("%q: %t", text, ok)
		case !ok:
			continue
		}
		matched++
		if want := (frame{m[1], m[2], m[3], m[4], m[5]}); f != want {
			t.Fatalf("%q: %+v, expected %+v", text, f, want)
		}
	}
	if matched < 1000 {
		t.Errorf("%d texts were frames, want more", matched)
	}
}
