package symbols

import (
	"regexp"
	"strings"
	"sync"
)

// cloneNote matches what demanglers make of the suffix of a part or a specialised copy of a function.
var cloneNote = regexp.MustCompile(
	`( \[clone [^\]]*\]| \(\.[a-z0-9._]+\)|\.(part|isra|constprop|cold|lto_priv)(\.[0-9]+)?)+$`)

// rustEscape undoes the escapes of Rust's older scheme, which llvm-symbolizer leaves in some names. One at the
// beginning of an identifier has an underscore in front.
var rustEscape = strings.NewReplacer("_$LT$", "<", "_$RF$", "&", "_$LP$", "(", "_$u5b$", "[", "_$u7b$", "{",
	"$LT$", "<", "$GT$", ">", "$LP$", "(", "$RP$", ")", "$RF$", "&", "$BP$", "*",
	"$C$", ",", "$u20$", " ", "$u27$", "'", "$u5b$", "[", "$u5d$", "]", "$u7b$", "{", "$u7d$", "}", "$u7e$", "~",
	"..", "::")

// rustHash matches what demanglers add to crates' names and to numbers, or leave out.
var rustHash = regexp.MustCompile(`\[[0-9a-f]{12,16}\]|::h[0-9a-f]{16}$|: ?([ui](size|[0-9]+)|bool|char)\b`)

// lambda matches a lambda expression's number, which demanglers write in different ways: {lambda(int)#2},
// 'lambda0'(int).
var lambda = regexp.MustCompile(`(\{lambda\(([^{}]*)\)#[0-9]+\}|'lambda[0-9]*'\(([^')]*)\))`)

var spelled sync.Map // what Spelling answered before: names are long, and expressions slow under the race detector

// Spelling reduces a function's name to what demanglers agree on.
func Spelling(name string) string {
	if s, ok := spelled.Load(name); ok {
		return s.(string)
	}
	s := reduce(name)
	spelled.Store(name, s)
	return s
}

func reduce(name string) string {
	if strings.Contains(name, "lambda") {
		name = lambda.ReplaceAllString(name, "lambda($2$3)")
	}
	if strings.Contains(name, "$") {
		name = rustEscape.Replace(name)
	}
	name = cloneNote.ReplaceAllString(name, "")
	name = rustHash.ReplaceAllString(name, "")
	return strings.ReplaceAll(name, " ", "")
}
