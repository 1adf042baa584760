// Package funcname shortens demangled names of functions: to what the source calls them, and to the width that a table
// or a picture has for them.
package funcname

import (
	"strings"
	"unicode/utf8"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/lazy"
)

var abiTag = lazy.Regexp(`\[abi:\w+\]`)

// Untagged returns a demangled name without what compilers write behind functions whose result was another type in an
// older ABI, and demanglers show: [abi:cxx11]. No source has it.
func Untagged(name string) string {
	if !strings.Contains(name, "[abi:") {
		return name
	}
	return abiTag().ReplaceAllString(name, "")
}

// Bare returns a demangled name without its arguments, what follows them, and the return type that demanglers put
// before template instances.
func Bare(name string) string {
	name = stripArguments(stripRustHash(name))
	if i := strings.Index(name, "operator"); i >= 0 {
		return name[beginning(name, i):] // std::ostream& ns::operator<< <ns::T>
	}
	return name
}

// Plain returns a demangled name as Bare does, and without template arguments.
func Plain(name string) string {
	name = Bare(name)
	for {
		shorter := foldTemplates(name)
		if shorter == name {
			return name
		}
		name = shorter
	}
}

// Short shortens a demangled name to width columns, and escapes what would disturb a terminal. It first removes the
// arguments, then writes well-known types of the standard library by their usual names, then folds template arguments,
// the innermost ones first, then leaves out the outermost scopes. What is still too long loses its middle.
func Short(name string, width int) string {
	name = stripRustHash(escape.Terminal(name))
	name = strings.TrimPrefix(name, "__GI_") // glibc's own name for what it exports
	name = stripArguments(name)
	name = wellKnown.Replace(name)
	for utf8.RuneCountInString(name) > width {
		shorter := foldTemplates(name)
		if shorter == name {
			break
		}
		name = shorter
	}
	return Middle(dropScopes(name, width), width)
}

// dropScopes replaces the outermost scopes of a name by an ellipsis until it fits: the end says most of what it is.
// If the last name does not fit, it returns the name as it was.
func dropScopes(name string, width int) string {
	const separator, mark = "::", "…"
	for rest := name; utf8.RuneCountInString(name) > width; {
		at := scopeEnd(rest)
		if at < 0 || strings.HasPrefix(rest[at+len(separator):], "operator()") {
			return name
		}
		if rest = rest[at+len(separator):]; utf8.RuneCountInString(mark+separator+rest) <= width {
			return mark + separator + rest
		}
	}
	return name
}

// scopeEnd returns the index of the first :: that is not within brackets; -1 if there is none.
func scopeEnd(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i] {
		case '<', '{', '(':
			depth++
		case '>', '}', ')':
			depth--
		case ':':
			if depth == 0 && s[i+1] == ':' {
				return i
			}
		}
	}
	return -1
}

var wellKnown = strings.NewReplacer(
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string",
	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string",
	"std::__cxx11::basic_string<char>", "std::string",
	"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string",
	"std::basic_string_view<char, std::char_traits<char> >", "std::string_view",
	"std::__cxx11::", "std::", "std::__1::", "std::",
	"(anonymous namespace)", "{anonymous}",
)

// stripArguments cuts the argument list and what follows it: foo(int) const becomes foo. What is part of the name
// stays: operator(), (anonymous namespace), {lambda(int)#1}.
func stripArguments(s string) string {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '{':
			if !operatorAt(s, i) {
				depth++
			}
		case '>', '}':
			if depth > 0 && !operatorAt(s, i) {
				depth--
			}
		case '(':
			if depth > 0 {
				continue
			}
			if rest := s[i:]; strings.HasPrefix(rest, "(anonymous namespace)") {
				i += len("(anonymous namespace)") - 1
				continue
			}
			if strings.HasSuffix(s[:i], "operator") && strings.HasPrefix(s[i:], "()") {
				i++
				continue
			}
			end := closing(s, i)
			if end > 0 && strings.HasPrefix(s[end:], "::") { // a local class or lambda of this function
				return returnType(s[:i]) + stripArguments(s[end:])
			}
			if i == 0 {
				return s
			}
			return returnType(s[:i])
		}
	}
	return s
}

// returnType cuts what a demangled template function has before its name: "void f<int>" becomes "f<int>".
func returnType(s string) string {
	if strings.Contains(s, "operator") {
		return s
	}
	return s[beginning(s, len(s)):]
}

// beginning returns where the name that ends at end begins: after the last space before it that is not within brackets.
func beginning(s string, end int) int {
	depth := 0
	for i := end - 1; i >= 0; i-- {
		switch s[i] {
		case '>', '}', ')':
			depth++
		case '<', '{', '(':
			depth--
		case ' ':
			if depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// operatorAt reports whether the character at i belongs to an operator's name: operator<, operator>>, operator->.
func operatorAt(s string, i int) bool {
	j := i
	for j > 0 && i-j < 2 && strings.IndexByte("<>=-", s[j-1]) >= 0 { // operator<=> and operator->* are the longest
		j--
	}
	return strings.HasSuffix(s[:j], "operator")
}

// closing returns the index after the parenthesis that closes the one at i, or -1.
func closing(s string, i int) int {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// foldTemplates replaces the innermost template argument lists by <…>.
func foldTemplates(s string) string {
	var b strings.Builder
	open := -1 // index of the latest unclosed < that has no list within
	start := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<':
			if !operatorAt(s, i) {
				open = i
			}
		case '>':
			if operatorAt(s, i) {
				continue
			}
			if open >= 0 && s[open:i] != "<…" {
				b.WriteString(s[start:open])
				b.WriteString("<…>")
				start = i + 1
			}
			open = -1
		}
	}
	b.WriteString(s[start:])
	// <…> within another list is that list's turn next.
	if out := b.String(); out != s {
		return out
	}
	return foldFolded(s)
}

// foldFolded folds lists in which everything that is a list is folded already.
func foldFolded(s string) string {
	const folded = "<…>"
	marked := strings.ReplaceAll(s, folded, "\x00")
	out := foldOnce(marked)
	return strings.ReplaceAll(out, "\x00", folded)
}

func foldOnce(s string) string {
	open := -1
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '<' && !operatorAt(s, i):
			open = i
		case s[i] == '>' && !operatorAt(s, i) && open >= 0:
			return s[:open] + "\x00" + s[i+1:]
		}
	}
	return s
}

// stripRustHash cuts the hash that rustc appends: ::h0123456789abcdef.
func stripRustHash(s string) string {
	const length = len("::h0123456789abcdef")
	if len(s) <= length || !strings.HasPrefix(s[len(s)-length:], "::h") {
		return s
	}
	if strings.Trim(s[len(s)-16:], "0123456789abcdef") != "" {
		return s
	}
	return s[:len(s)-length]
}

// Middle cuts the middle out of a text that has more than width columns. Its end keeps more than its beginning.
func Middle(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	if width < 5 {
		return "…"
	}
	r := []rune(s)
	head := (width - 1) / 3
	return string(r[:head]) + "…" + string(r[len(r)-(width-1-head):])
}
