package heapprofile

import (
	"io"
	"testing"

	"github.com/heaptap/heaptap/internal/import/importtest"
	"github.com/heaptap/heaptap/internal/merge"
)

func FuzzRead(f *testing.F) {
	f.Add([]byte("heap profile:  3:  300 [ 5:  500] @ heapprofile\n 1: 100 [ 3: 300] @ 0x10 0x20\n 2: 200 [ 2: 200] @\n\nMAPPED_LIBRARIES:\n10-30 r-xp 00000000 08:01 1 /bin/a\n"))
	f.Add([]byte("heap profile: 1: 10 [0: 0] @ heap_v2/524288\n1: 10 [0: 0] @ 0x1\n"))
	f.Add([]byte("heap_v2/4096\n  t*: 3: 300 [0: 0]\n  t0: 3: 300 [0: 0]\n@ 0x10 0x20\n  t*: 3: 300 [4: 400]\n  t0: 3: 300 [0: 0]\n\nMAPPED_LIBRARIES:\n10-30 r-xp 0 0 1 /bin/a b\n"))
	importtest.Fuzz(f, func(in io.Reader) (*merge.Told, error) { return Read(in, nil) })
}
