package symbolize

import (
	"strconv"
	"strings"

	"github.com/heaptap/heaptap/internal/lazy"
)

// The demangler reads Rust's newer names, _R and a path, except for two things that are corrected here.

// constructors removes what the demangler puts after a type that stands for its constructor, which has no name of its
// own: map::<A, B::>.
var constructors = strings.NewReplacer("::>", ">", "::,", ",", "::)", ")", ":: as ", " as ")

// v0Number matches the parts of such a name that end in an underscore: a disambiguator, a back reference, a lifetime or
// a binder with its number in base 62, a constant with its type and value.
var v0Number = lazy.Regexp(`^([sBLG][0-9A-Za-z]*_|K[a-z]n?[0-9a-f]*_)`)

// emptyIdentifiers prepares a name for the demangler, which reads the lengths of consecutive empty identifiers, such as
// closures have, as one number: 00, or 04main. They get the underscore that may end a length: 0_0 and 0_4main. Back
// references, which are offsets in the name, are adjusted.
func emptyIdentifiers(name string) string {
	const prefix = len("_R") // offsets count from there
	var b strings.Builder
	moved := make([]int, len(name)) // new position of each byte
	for i := 0; i < len(name); {
		token := v0Number().FindString(name[i:])
		n := max(len(token), 1)
		switch c := name[i]; {
		case c == 'B' && token != "":
			to, ok := base62(token[1 : n-1])
			if !ok || to >= i-prefix {
				return name
			}
			token = "B" + toBase62(moved[to+prefix]-prefix) + "_"
		case token != "":
		case c == '0' && i+1 < len(name) && digits(name[i+1:]) > 0:
			token = "0_"
		case c >= '1' && c <= '9':
			n = digits(name[i:])
			size, err := strconv.Atoi(name[i : i+n])
			if err != nil || size > len(name)-i-n {
				return name
			}
			if size < len(name)-i-n && name[i+n] == '_' {
				n++
			}
			n += size
		}
		if token == "" {
			token = name[i : i+n]
		}
		for k := range n {
			moved[i+k] = b.Len() + k
		}
		b.WriteString(token)
		i += n
	}
	return b.String()
}

// digits counts the decimal digits at the beginning.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

const alphabet62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// base62 reads a number of these names: "" is 0, and "0" is 1.
func base62(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	if len(s) > 4 { // no name is that long
		return 0, false
	}
	v := 0
	for i := range len(s) {
		v = v*62 + strings.IndexByte(alphabet62, s[i])
	}
	return v + 1, true
}

func toBase62(v int) string {
	if v == 0 {
		return ""
	}
	s := ""
	for v--; s == "" || v > 0; v /= 62 {
		s = alphabet62[v%62:v%62+1] + s
	}
	return s
}

// legacyRust prepares a name of Rust's older scheme for the demangler: _ZN, identifiers with their lengths, 17h, a hash
// and E. The demangler drops an underscore at the beginning of an identifier, so such identifiers get one more. (Only
// in front of a $ is that underscore not part of the name.) Any other name is returned unchanged.
func legacyRust(name string) string {
	rest, ok := strings.CutPrefix(name, "_ZN")
	if !ok || len(rest) < 20 || rest[len(rest)-20:len(rest)-17] != "17h" || rest[len(rest)-1] != 'E' {
		return name
	}
	hash := rest[len(rest)-17 : len(rest)-1]
	if strings.Trim(hash, "0123456789abcdef") != "" || !strings.Contains(rest, "_") {
		return name
	}
	var b strings.Builder
	b.WriteString("_ZN")
	for rest = rest[:len(rest)-20]; rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n <= 0 || n > len(rest)-digits {
			return name
		}
		id := rest[digits : digits+n]
		if id[0] == '_' && !strings.HasPrefix(id, "_$") {
			id = "_" + id
		}
		b.WriteString(strconv.Itoa(len(id)))
		b.WriteString(id)
		rest = rest[digits+n:]
	}
	return b.String() + "17h" + hash + "E"
}
