package symbolize

import (
	"strings"
	"testing"
	"time"
)

func TestDemangle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, function, linkage string }{
		{"malloc", "malloc", ""},
		{"", "", ""},
		{"_Z3fooi", "foo(int)", "_Z3fooi"},
		{"_ZN3FooC4Ev", "Foo::Foo()", "_ZN3FooC4Ev"}, // the constructor of all constructors, as gcc's DWARF has it
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)", "_ZNSt6vectorIiSaIiEE9push_backEOi"},
		{"_Z3fooi.part.0", "foo(int)", "_Z3fooi.part.0"},
		{"_Z3fooi.part.0.cold", "foo(int)", "_Z3fooi.part.0.cold"},
		{"_Z3fooi.constprop.0.isra.1", "foo(int)", "_Z3fooi.constprop.0.isra.1"},
		{"parse.cold", "parse", "parse.cold"},
		{"parse.lto_priv.12", "parse", "parse.lto_priv.12"},
		{"parse.llvm.1234567890123", "parse", "parse.llvm.1234567890123"},
		{"runtime.mallocgc", "runtime.mallocgc", ""}, // Go
		{"main.part", "main", "main.part"},
		{".cold", ".cold", ""},
		{"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const", "_ZZ4mainENKUlvE_clEv"},
		{"_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden(int)", "_ZN12_GLOBAL__N_16hiddenEi"},
		{"_RNvNtCsjrHSEGnQ3l9_3std2io5__copy", "std::io::_copy", "_RNvNtCsjrHSEGnQ3l9_3std2io5__copy"},
		{"_RNvCsjrHSEGnQ3l9_3std4main", "std::main", "_RNvCsjrHSEGnQ3l9_3std4main"},
		{"_ZN3std2io5stdio6_print17h8e0473d96dacc95aE", "std::io::stdio::_print", "_ZN3std2io5stdio6_print17h8e0473d96dacc95aE"},
		{"_ZN3std9backtrace28__rust_begin_short_backtrace17hb8e0473d96dacc95E", "std::backtrace::__rust_begin_short_backtrace",
			"_ZN3std9backtrace28__rust_begin_short_backtrace17hb8e0473d96dacc95E"},
		{"_ZN60_$LT$alloc..string..String$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
			"<alloc::string::String as core::clone::Clone>::clone",
			"_ZN60_$LT$alloc..string..String$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE"},
		{"_ZN", "_ZN", ""},
		{"_Z", "_Z", ""},
		{"_R", "_R", ""},
	} {
		function, linkage := newDemangler().demangle(c.name)
		if function != c.function || linkage != c.linkage {
			t.Errorf("%q: got %q, %q, want %q, %q", c.name, function, linkage, c.function, c.linkage)
		}
	}
}

// Names that would take for ever, or more memory than there is, if they were taken literally.
func TestDemangleHostile(t *testing.T) {
	t.Parallel()
	double := "_Z1fI1A" // every step has the two before it as arguments: the text grows like 2^n
	for i := range 30 {
		double += "1BIS" + string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) + "_S" + string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) + "_E"
	}
	for _, name := range []string{
		double + "Evv",
		"_Z1f" + strings.Repeat("P", 8000) + "i",
		"_Z" + strings.Repeat("1A", 4000),
		"_ZN" + strings.Repeat("I", 8000),
		"_R" + strings.Repeat("N", 8000),
		"_RC" + strings.Repeat("s_", 4000),
		"_RINvC1a1b" + strings.Repeat("T", 8000) + "E",
		strings.Repeat("x", 1<<20),
		"_Z" + strings.Repeat("9", 1000),
	} {
		start := time.Now()
		f, _ := newDemangler().demangle(name)
		if f == "" || len(f) > max(len(name), 1<<(maxShift+1)) {
			t.Errorf("%.40q...: %d characters came out of %d", name, len(f), len(name))
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("%.40q...: took %v", name, d)
		}
	}
}
