package elfx

import (
	"slices"
	"testing"
)

// Symbols that cover an address in different ways, and several symbols of which one is chosen.
const assembly = `
__asm__(".text\n.balign 64\n"
	".globl sized\n.type sized,@function\nsized:\n.skip 16,0x90\n.size sized,16\n"
	".skip 16,0x90\n" // belongs to nothing
	".globl unsized\n.type unsized,@function\nunsized:\n.skip 16,0x90\n"
	"label:\n.skip 16,0x90\n"
	".globl outer\n.type outer,@function\nouter:\n.skip 8,0x90\n"
	".globl inner\n.type inner,@function\ninner:\n.skip 4,0x90\n.size inner,4\n.skip 4,0x90\n.size outer,16\n"
	".globl __b_strong\n.type __b_strong,@function\n.weak a_weak\n.type a_weak,@function\n.type a_local,@function\n"
	"__b_strong:\na_weak:\na_local:\n.skip 16,0x90\n.size __b_strong,16\n.size a_weak,16\n.size a_local,16\n"
	".globl zz\n.type zz,@function\n.globl yyy\n.type yyy,@function\n.globl _x\n.type _x,@function\n"
	"zz:\nyyy:\n_x:\n.skip 16,0x90\n.size zz,16\n.size yyy,16\n.size _x,16\n"
	".type object,@object\n.globl object\nobject:\n.skip 16,0\n.size object,16\n");
extern char sized[];
int main(void) { return sized[0]; }
`

func TestSymbols(t *testing.T) {
	t.Parallel()
	f, err := Open(compile(t, assembly, "-O1"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var start uint64
	for a := f.Code()[0].Start; a < f.Code()[0].End; a++ {
		if s, err := f.Symbols([]uint64{a}); err != nil {
			t.Fatal(err)
		} else if s[0].Name == "sized" {
			start = a
			break
		}
	}
	if start == 0 || start%64 != 0 {
		t.Fatalf("sized is at %#x", start)
	}
	want := map[uint64]string{
		0: "sized", 15: "sized", 16: "", 31: "", 32: "unsized", 47: "unsized", 48: "label", 63: "label", 64: "outer",
		71: "outer", 72: "inner", 75: "inner", 76: "outer", 79: "outer", 80: "__b_strong", 95: "__b_strong", 96: "zz",
		111: "zz", 112: "", 127: "",
	}
	var addrs []uint64
	for off := range want {
		addrs = append(addrs, start+off)
	}
	slices.Sort(addrs)
	got, err := f.Symbols(addrs)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range addrs {
		if got[i].Name != want[a-start] {
			t.Errorf("%d: got %q, want %q", a-start, got[i].Name, want[a-start])
		}
	}
	if s, err := f.Symbols([]uint64{0, 1, ^uint64(0)}); err != nil || s[0].Name+s[1].Name+s[2].Name != "" {
		t.Errorf("addresses without code: %v, %v", s, err)
	}
}
