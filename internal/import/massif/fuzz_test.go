package massif

import (
	"testing"

	"github.com/heaptap/heaptap/internal/import/importtest"
)

func FuzzRead(f *testing.F) { importtest.Fuzz(f, Read, seeds...) }

const head = "desc: (none)\ncmd: ./a b\ntime_unit: ms\n"

var seeds = []string{
	head + "#-----------\nsnapshot=0\n#-----------\ntime=0\nmem_heap_B=0\nmem_heap_extra_B=0\nmem_stacks_B=0\n" +
		"heap_tree=empty\n",
	head + "snapshot=0\ntime=5\nmem_heap_B=100\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree=peak\nn2: 100 (heap " +
		"allocation functions) malloc/new/new[], --alloc-fns, etc.\n" +
		" n1: 70 0x109: f (a.c:3)\n  n0: 70 0x10A: main (in /bin/a)\n n0: 30 in 3 places, all below massif's " +
		"threshold (1.00%)\n" +
		"snapshot=1\ntime=9\nmem_heap_B=20\nheap_tree=detailed\nn1: 20 (all)\n n0: 20 0x109: f (a.c:3)\n",
}
