package funcname_test

import (
	"testing"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/funcname"
)

func TestShort(t *testing.T) {
	t.Parallel()
	const str = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"main", 40, "main"},
		{"f(int, char const*)", 40, "f"},
		{"ns::C::m(std::vector<int>) const", 40, "ns::C::m"},
		{"void ns::f<int>(int)", 40, "ns::f<int>"},
		{"(anonymous namespace)::f(int)", 40, "{anonymous}::f"},
		{"C::operator()(int)", 40, "C::operator()"},
		{"operator new(unsigned long)", 40, "operator new"},
		{"std::ostream& operator<< <char>(std::ostream&, char)", 60, "std::ostream& operator<< <char>"},
		{"C::operator->()", 40, "C::operator->"},
		{"f(int)::{lambda(char)#1}::operator()(char) const", 60, "f::{lambda(char)#1}::operator()"},
		{"void f<int>(int)::{lambda(char)#1}::_FUN(char)", 60, "f<int>::{lambda(char)#1}::_FUN"},
		{"std::vector<" + str + ", std::allocator<" + str + " > >::push_back(" + str + " const&)", 80,
			"std::vector<std::string, std::allocator<std::string > >::push_back"},
		{"std::vector<" + str + ", std::allocator<" + str + " > >::push_back(" + str + " const&)", 60,
			"std::vector<std::string, std::allocator<…> >::push_back"},
		{"std::vector<" + str + ", std::allocator<" + str + " > >::push_back(" + str + " const&)", 30,
			"std::vector<…>::push_back"},
		{"alloc::vec::Vec<T,A>::push::h0123456789abcdef", 40, "alloc::vec::Vec<T,A>::push"},
		{"a_very_long_function_name_in_c_without_anything_to_fold", 20, "a_very…thing_to_fold"},
		{"bad\x1b[31m\xffname\u202e", 40, `bad\x1b[31m\xffname\u202e`},
		{"", 10, ""},
		{"(", 10, "("},
		{"<<<>>>(((", 10, "<<<>>>"}, {"<<<a>>>(((", 5, "<<…>>"},
	} {
		got := funcname.Short(c.in, c.width)
		if got != c.want {
			t.Errorf("Short(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
		if utf8.RuneCountInString(got) > c.width {
			t.Errorf("%q has %d columns", got, utf8.RuneCountInString(got))
		}
	}
}

func TestUntagged(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"std::__cxx11::to_string[abi:cxx11](int)": "std::__cxx11::to_string(int)",
		"a[abi:v1][abi:v2]<b[abi:v1]>::c":         "a<b>::c",
		"operator[](int)":                         "operator[](int)",
		"":                                        "",
	} {
		if got := funcname.Untagged(in); got != want {
			t.Errorf("Untagged(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzShort(f *testing.F) {
	f.Add("std::vector<int, std::allocator<int> >::push_back(int const&)", 20)
	f.Add("operator<< <…>(((", 7)
	f.Fuzz(func(t *testing.T, name string, width int) {
		if width < 5 || width > 200 || len(name) > 1000 {
			return
		}
		if got := funcname.Short(name, width); utf8.RuneCountInString(got) > width {
			t.Errorf("%q has more than %d columns", got, width)
		}
	})
}
