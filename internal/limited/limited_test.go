package limited

import (
	"bytes"
	"errors"
	"testing"
)

func TestWriter(t *testing.T) {
	var to bytes.Buffer
	w := &Writer{W: &to, Left: 5}
	for _, s := range []string{"abc", "def", "ghi"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if to.String() != "abcde" {
		t.Errorf("%q", to.String())
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestError(t *testing.T) {
	if _, err := (&Writer{W: broken{}, Left: 1}).Write([]byte("a")); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
