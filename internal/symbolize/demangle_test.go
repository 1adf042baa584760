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
		{"_ZN3FooC4Ev", "Foo::Foo()", "_ZN3FooC4Ev"}, // the unified constructor, as in gcc's DWARF
		{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)",
			"_ZNSt6vectorIiSaIiEE9push_backEOi"},
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
		{"_ZN3std2io5stdio6_print17h8e0473d96dacc95aE", "std::io::stdio::_print",
			"_ZN3std2io5stdio6_print17h8e0473d96dacc95aE"},
		{"_ZN3std9backtrace28__rust_begin_short_backtrace17hb8e0473d96dacc95E",
			"std::backtrace::__rust_begin_short_backtrace",
			"_ZN3std9backtrace28__rust_begin_short_backtrace17hb8e0473d96dacc95E"},
		{"_ZN60_$LT$alloc..string..String$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE",
			"<alloc::string::String as core::clone::Clone>::clone",
			"_ZN60_$LT$alloc..string..String$u20$as$u20$core..clone..Clone$GT$5clone17h0123456789abcdefE"},
		{"_RNvNCNvNtCsjrHSEGnQ3l9_3std9panicking12default_hook07cleanup",
			"std::panicking::default_hook::{closure#0}::cleanup",
			"_RNvNCNvNtCsjrHSEGnQ3l9_3std9panicking12default_hook07cleanup"},
		{"_RNCNCNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal00s_0B9_", // "0", "0", then "s_0"
			"std::rt::lang_start_internal::{closure#0}::{closure#0}::{closure#1}",
			"_RNCNCNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal00s_0B9_"},
		{"_RINvNtNtCsjrHSEGnQ3l9_3std6thread9lifecycle5spawnNCNCNvCs32gj3y4fnmh_4main7threads00uEB12_",
			"std::thread::lifecycle::spawn::<main::threads::{closure#0}::{closure#0}, ()>",
			"_RINvNtNtCsjrHSEGnQ3l9_3std6thread9lifecycle5spawnNCNCNvCs32gj3y4fnmh_4main7threads00uEB12_"},
		{"_RINvMNtCsgEmfK2I1SDS_4core6optionINtB3_6OptionNtNtNtB5_3net7ip_addr8Ipv4AddrE3" +
			"mapNtBK_6IpAddrNcNtB1h_2V40EB5_",
			"<core::option::Option<core::net::ip_addr::Ipv4Addr>>::map::<core::net::ip_addr::IpAddr, " +
				"core::net::ip_addr::IpAddr::V4>",
			"_RINvMNtCsgEmfK2I1SDS_4core6optionINtB3_6OptionNtNtNtB5_3net7ip_addr8Ipv4AddrE3" +
				"mapNtBK_6IpAddrNcNtB1h_2V40EB5_"},
		{"_RINvNCNCNvC1a1x002fnNtB6_1cE", "a::x::{closure#0}::{closure#0}::fn::<a::x::c>",
			"_RINvNCNCNvC1a1x002fnNtB6_1cE"},
		{"_RNcNtNtNtNtCsgEmfK2I1SDS_4core3net11socket_addr10SocketAddr2V60", "core::net::socket_addr::SocketAddr::V6",
			"_RNcNtNtNtNtCsgEmfK2I1SDS_4core3net11socket_addr10SocketAddr2V60"},
		{"_RINvC1a1fKj10_Kh0_E", "a::f::<16, 0>", "_RINvC1a1fKj10_Kh0_E"},
		{"_ZSt12__get_helperILm0EOiJEERT0_RSt11_Tuple_implIXT_EJS1_DpT1_EE", // the last pack is empty
			"int& std::__get_helper<0ul, int&&>(std::_Tuple_impl<0ul, int&&>&)",
			"_ZSt12__get_helperILm0EOiJEERT0_RSt11_Tuple_implIXT_EJS1_DpT1_EE"},
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

// Names that would take too long, or too much memory, if they were demangled in full.
func TestDemangleHostile(t *testing.T) {
	t.Parallel()
	double := "_Z1fI1A" // every step has the two before it as arguments: the text grows like 2^n
	for i := range 30 {
		double += "1BIS" + string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) + "_S" +
			string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) + "_E"
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
