package folded

import (
	"io"
	"testing"

	"github.com/heaptap/heaptap/internal/import/importtest"
	"github.com/heaptap/heaptap/internal/merge"
)

func FuzzRead(f *testing.F) {
	importtest.Fuzz(f, func(in io.Reader) (*merge.Imported, error) { return Read(in, "") }, seeds...)
}

func FuzzReadPeak(f *testing.F) {
	importtest.Fuzz(f, func(in io.Reader) (*merge.Imported, error) { return Read(in, "peak") }, seeds...)
}

var seeds = []string{
	"main;f 100\nmain;g h 20\n[unknown] 3\n",
	"_mpTrace_;main;f $4$100$40$60\n_mpTrace_;[unknown] $1$2$0$2\n",
	"\ufeff// what\nmain;f 1.5\nmain;g 2e3\n",
	"\xff\xfem\x00a\x00;\x00\x3d\xd8\x00\xde \x001\x00\n\x00",
	"\xfe\xff\x00m\xd8\x3d\x00 \x007",
	"# what\n\na 18446744073709551615\nb 1\n",
}
