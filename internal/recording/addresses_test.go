//go:build !race

package recording_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/recording"
)

// TestAddressesAreCheap: if an allocator reuses what was recently freed, an address costs less than a byte an event.
func TestAddressesAreCheap(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for name, p := range programs {
		var size [2]int64
		for i, addresses := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "a.htap")
			write(t, path, p.run(1, n), recording.Options{Addresses: addresses})
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			size[i] = st.Size()
		}
		more := float64(size[1]-size[0]) / n
		t.Logf("%s: %.3f bytes an event", name, more)
		if more > 1 {
			t.Errorf("%s: addresses cost %.3f bytes an event", name, more)
		}
	}
}
