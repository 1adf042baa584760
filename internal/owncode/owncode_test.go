package owncode

import "testing"

func TestKind(t *testing.T) {
	t.Parallel()
	const exe, lib, libc = "/home/u/shop/server", "/usr/lib/libshop.so.1.2", "/lib/x86_64-linux-gnu/libc.so.6"
	own, err := ParsePatterns([]string{"libshop", "vip::*"})
	if err != nil {
		t.Fatal(err)
	}
	library, err := ParsePatterns([]string{"boost::*", "*/third_party/*"})
	if err != nil {
		t.Fatal(err)
	}
	plain := New(Rules{}, []string{exe}, func(string) bool { return false })
	told := New(Rules{Own: own, Library: library}, []string{exe}, func(string) bool { return false })
	here := New(Rules{Folder: "/home/u/shop"}, []string{exe}, func(m string) bool { return m == lib })
	for _, c := range []struct {
		name             string
		f                Frame
		plain, told, now Kind
	}{
		{"main", Frame{Function: "main", Module: exe}, Own, Own, Own},
		{"no name", Frame{Module: exe}, Own, Own, Own},
		{"library", Frame{Function: "shop_open", Module: lib}, Other, Own, Own},
		{"sources here", Frame{Function: "f", File: "/home/u/shop/a.c", Module: "/x.so"}, Other, Other, Own},
		{"sources beside", Frame{Function: "f", File: "/home/u/shop2/a.c", Module: "/x.so"}, Other, Other, Other},
		{"std in the program", Frame{Function: "std::vector<int>::push_back(int const&)", Module: exe,
			File: "/usr/include/c++/12/bits/stl_vector.h"}, Library, Library, Library},
		{"instance", Frame{Function: "void std::sort<int*>(int*, int*)", Module: exe}, Library, Library, Library},
		{"part of an instance", Frame{Function: "void std::call_once<void (&)()>(std::once_flag&, void (&)())::" +
			"{lambda()#2}::_FUN()", Module: exe}, Library, Library, Library},
		{"own template of std", Frame{Function: "std::string shop::name<int>(int)", Module: exe}, Own, Own, Own},
		{"operator", Frame{Function: "std::ostream& shop::operator<< <T>(std::ostream&, T)", Module: exe},
			Own, Own, Own},
		{"inlined lambda", Frame{Function: "main::{lambda()#1}::operator()() const", Module: exe}, Own, Own, Own},
		{"own specialisation", Frame{Function: "std::hash<shop::Key>::operator()", File: "/home/u/shop/key.h",
			Module: exe},
			Library, Library, Own},
		{"xmalloc", Frame{Function: "xmalloc", File: "/home/u/shop/util.c", Module: exe}, Wrapper, Wrapper, Wrapper},
		{"part", Frame{Function: "xmalloc.part.0", Module: exe}, Wrapper, Wrapper, Wrapper},
		{"xmalloc in C++", Frame{Function: "xmalloc(unsigned long)", Module: exe}, Wrapper, Wrapper, Wrapper},
		{"own operator new", Frame{Function: "shop::Item::operator new(unsigned long)", Module: exe}, Own, Own, Own},
		{"operator new", Frame{Function: "operator new(unsigned long)", Module: exe}, Wrapper, Wrapper, Wrapper},
		{"sqlite3Malloc", Frame{Function: "sqlite3Malloc", Module: "/usr/lib/libsqlite3.so.0"},
			Wrapper, Wrapper, Wrapper},
		{"glib", Frame{Function: "g_malloc", Module: "/usr/lib/libglib-2.0.so.0"}, Wrapper, Wrapper, Wrapper},
		{"libc", Frame{Function: "getline", Module: libc}, Library, Library, Library},
		{"Rust", Frame{Function: "alloc::vec::Vec<T>::push", File: "/rustc/1/library/alloc/src/vec/mod.rs",
			Module: exe},
			Library, Library, Library},
		{"Rust's allocator", Frame{Function: "<alloc::alloc::Global>::alloc_impl_runtime",
			File: "/rustc/1/library/alloc/src/alloc.rs", Module: exe}, Wrapper, Wrapper, Wrapper},
		{"hashbrown", Frame{Function: "hashbrown::map::HashMap<K,V>::insert", Linkage: "_RNv9hashbrown", Module: exe},
			Library, Library, Library},
		{"alloc in C++", Frame{Function: "alloc::Pool::grow()", Linkage: "_ZN5alloc4Pool4growEv", Module: exe},
			Own, Own, Own},
		{"core in C++", Frame{Function: "core::run", File: "src/core.cc", Module: exe}, Own, Own, Own},
		{"crate", Frame{Function: "serde::de", File: "/root/.cargo/registry/src/x/serde/lib.rs", Module: exe},
			Other, Other,
			Other},
		{"Go", Frame{Function: "runtime.mallocgc", File: "/usr/local/go/src/runtime/malloc.go", Module: exe}, Library,
			Library, Library},
		{"C like Go", Frame{Function: "runtime.x", File: "r.c", Module: exe}, Own, Own, Own},
		{"boost", Frame{Function: "boost::asio::run()", Module: exe}, Own, Library, Own},
		{"third party", Frame{Function: "png_read", File: "/src/third_party/png/p.c", Module: exe}, Own, Library, Own},
		{"own before library", Frame{Function: "vip::f", File: "/src/third_party/v.c", Module: exe}, Own, Own, Own},
		{"python", Frame{Function: "list_resize", Module: "/usr/bin/python3.11"}, Library, Library, Library},
		{"nothing known", Frame{}, Other, Other, Other},
	} {
		for i, k := range []*Code{plain, told, here} {
			if got, want := k.Kind(&c.f), []Kind{c.plain, c.told, c.now}[i]; got != want {
				t.Errorf("%s, rules %d: %d, want %d", c.name, i, got, want)
			}
		}
	}
}

// TestMains: a program that was replaced while it ran is the main executable, too; the root folder has no sources of
// the user's.
func TestMains(t *testing.T) {
	t.Parallel()
	c := New(Rules{Folder: "/"}, []string{"/bin/a (deleted)", ""}, func(string) bool { return true })
	if got := c.Kind(&Frame{Function: "f", Module: "/bin/a"}); got != Own {
		t.Errorf("a deleted program: %d", got)
	}
	if got := c.Kind(&Frame{Function: "f", File: "/src/a.c", Module: "/lib/a.so"}); got != Other {
		t.Errorf("a source below the root: %d", got)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "*", "**"} {
		if _, err := ParsePattern(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, bad := range []string{"wrapper", "wrappers x", "x"} {
		if _, err := parse(bad + "\n"); err == nil {
			t.Errorf("a list with %q is accepted", bad)
		}
	}
}
