package query

import "testing"

func TestPlainName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"main":                                   "main",
		"f(int)":                                 "f",
		"void a::B<int>::f<char>(char) const":    "a::B::f",
		"std::map<int, A<3> >::operator[](int)":  "std::map::operator[]",
		"(anonymous namespace)::Parser::parse()": "(anonymous namespace)::Parser::parse",
		"bool operator< <int>(A const&)":         "operator<",
		"A::operator()(int) const":               "A::operator()",
		"operator new(unsigned long)":            "operator new",
		"A::operator->() const":                  "A::operator->",
		"<alloc::vec::Vec<T>>::push":             "::push",
		"":                                       "",
	} {
		if got := PlainName(name); got != want {
			t.Errorf("PlainName(%q) = %q, want %q", name, got, want)
		}
	}
}
