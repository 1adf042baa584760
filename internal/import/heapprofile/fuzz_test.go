package heapprofile

import (
	"io"
	"testing"

	"github.com/heaptap/heaptap/internal/import/importtest"
	"github.com/heaptap/heaptap/internal/merge"
)

func FuzzRead(f *testing.F) {
	f.Add([]byte("heap profile:  3:  300 [ 5:  500] @ heapprofile\n 1: 100 [ 3: 300] @ 0x10 0x20\n 2: 200 [ 2: 200] " +
		"@\n\nMAPPED_LIBRARIES:\n10-30 r-xp 00000000 08:01 1 /bin/a\n"))
	f.Add([]byte("heap profile: 1: 10 [0: 0] @ heap_v2/524288\n1: 10 [0: 0] @ 0x1\n"))
	f.Add([]byte("heap_v2/4096\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n@ 0x10 0x20\n  t*: 3: 300 [4: 400]\n  t0: " +
		"3: 300 [0: 0]\n\nMAPPED_LIBRARIES:\n10-30 r-xp 0 0 1 /bin/a b\n"))
	f.Add([]byte("heap profile: 1: 10 [1: 10] @ heap/2\n1: 10 [1: 10] @ 0x11 " +
		"0x21\n#\t0x10\tmain.f+0x1\t/a.go:1\n#\t0x10\tmain.g+0x1\t/a.go:2\n\n# Alloc = 1\n"))
	f.Add([]byte("heap profile: 1: 10 [1: 10] @ growthz\n1: 10 [1: 10] @ 0x11\n--- Memory map: " +
		"---\nbuild=/none\n10-30: $build/a (@0) ab\nno\ne=\n30-40: $e\n40-50 r-xp 0 0 1 /b\n"))
	importtest.Fuzz(f, func(in io.Reader) (*merge.Imported, error) { return Read(in, nil) })
}
