package heaptrack

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// FuzzImport: any input gives an error, or a recording whose tally is that of its events.
func FuzzImport(f *testing.F) {
	const whole = "v 10400 3\nX ./a b\nI 1000 100\n# text\ns 4 /bin\ns 4 main\ns 1 f\ni 1000 1 2 0 0\ni 2000 1 3 0 " +
		"7 2 0 9\nt 1 0\nt 2 1\na 0 2\na 10 2\n" +
		"c 1\n+ 1\nR 5\n+ 1\n- 1\nc 7\n+ 0\n- 0\n"
	f.Add([]byte(whole))
	f.Add([]byte("v 10000 1\nX a\ns a name with blanks\ni 1 1\nt 1 0\na ffffffffffffffff 1\n+ 0\nc " +
		"ffffffffffffffff\n- 0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "a.htap")
		if err := Import(bytes.NewReader(b), path, "test"); err != nil {
			return
		}
		r, err := recording.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		counted, err := r.Recount()
		if err != nil {
			t.Fatal(err)
		}
		held, err := r.Tally()
		if err != nil {
			t.Fatal(err)
		}
		if counted.Totals != held.Totals {
			t.Errorf("%+v, counted %+v", held.Totals, counted.Totals)
		}
	})
}
