package folded

import (
	"io"
	"testing"

	"github.com/heaptap/heaptap/internal/import/importtest"
	"github.com/heaptap/heaptap/internal/merge"
)

func FuzzRead(f *testing.F) {
	importtest.Fuzz(f, func(in io.Reader) (*merge.Told, error) { return Read(in, "") }, seeds...)
}

func FuzzReadPeak(f *testing.F) {
	importtest.Fuzz(f, func(in io.Reader) (*merge.Told, error) { return Read(in, "peak") }, seeds...)
}

var seeds = []string{
	"main;f 100\nmain;g h 20\n[unknown] 3\n",
	"_mpTrace_;main;f $4$100$40$60\n_mpTrace_;[unknown] $1$2$0$2\n",
	"# what\n\na 18446744073709551615\nb 1\n",
}
