package escape

import "testing"

func TestTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "plain ü": "plain ü", "a\x1b[31mb": `a\x1b[31mb`, "two\nlines\r\t": `two\nlines\r\t`,
		"\u009b31m": `\u009b31m`, "\x9b31m": `\x9b31m`, "a\u202eb": `a\u202eb`, "\x00": `\x00`, "\xff\xfe": `\xff\xfe`,
		"\x7f": `\x7f`, "back\\slash": "back\\slash", "it's": "it's",
	} {
		if got := Terminal(text); got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}

func TestCell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "f(int)": "f(int)", "=1+1": "'=1+1", "@SUM(A1)": "'@SUM(A1)", "-cmd": "'-cmd", "+1": "+1", "-5": "-5",
		"-1.5e3": "-1.5e3", "-": "'-", "\t=1": `\t=1`, "\r=1": `\r=1`, " =1": "' =1", "a=1": "a=1",
		"-[NSObject init]": "'-[NSObject init]", "\x1b=": `\x1b=`, "+-1": "'+-1",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q: %q, expected %q", text, got, want)
		}
	}
}
