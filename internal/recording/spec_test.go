package recording_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
)

// exampleFile writes the recording that the example in doc.go explains.
func exampleFile(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "example.htap")
	w, err := recording.Create(path, event.Process{PID: 7, Args: []string{"a"}}, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Thread(0, event.Thread{TID: 7, Name: "a", Start: 100})
	w.PC(1, event.PC{Addr: 0x1234})
	w.Node(1, event.Node{PC: 1})
	alloc := event.Event{Time: 100, Kind: event.Alloc, Func: event.Malloc, Stack: 1, Size: 100, Usable: 104,
		Flags: event.HasUsable, Ref: event.NoRef}
	again := alloc
	again.Time = 300
	free := event.Event{Time: 700, Kind: event.Free, Func: event.FreeFunc, Stack: 1, Size: 100, Usable: 104, Ref: 0,
		Born: 100}
	for _, step := range []error{w.Event(&alloc), w.Event(&again), w.Event(&free), w.Flush(), w.Abort()} {
		if step != nil {
			t.Fatal(step)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// exampleLine is a line of the example: an offset, and bytes or, after a quotation mark, text.
var exampleLine = regexp.MustCompile(`^//\t([0-9a-f]{4})  ((?:[0-9a-f]{2}(?: |$))+|".*)`)

// TestExample: the example in the specification is, byte for byte, what a Writer makes.
func TestExample(t *testing.T) {
	t.Parallel()
	want := exampleFile(t)
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	in := bufio.NewScanner(bytes.NewReader(doc))
	for in.Scan() {
		m := exampleLine.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		offset, err := strconv.ParseUint(m[1], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		if text, ok := strings.CutPrefix(m[2], `"`); ok {
			b = []byte(text)
		} else if b, err = hex.DecodeString(strings.ReplaceAll(m[2], " ", "")); err != nil {
			t.Fatal(err)
		}
		if int(offset) != at || at+len(b) > len(want) || !bytes.Equal(b, want[at:at+len(b)]) {
			t.Fatalf("%s\nis not what the file has at %#04x:\n%s", in.Text(), at,
				hex.Dump(want[at:min(at+len(b)+16, len(want))]))
		}
		at += len(b)
	}
	if at != len(want) {
		t.Errorf("the example ends at %#x of %#x:\n%s", at, len(want), hex.Dump(want[at:]))
	}
}

// TestBlocksAreSpecified: the specification lists every type of block.
func TestBlocksAreSpecified(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"at most 262,144 events",
		fmt.Sprintf("version %d.%d.", recording.VersionMajor, recording.VersionMinor)} {
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("doc.go does not say %q", want)
		}
	}
	for typ := recording.BlockProcess; !strings.HasPrefix(typ.String(), "type "); typ++ {
		if !regexp.MustCompile(fmt.Sprintf(`(?s)Types:.*[ /]%d [a-z]+[,.; ].*# Columns`, typ)).Match(doc) {
			t.Errorf("doc.go does not list type %d, %s", typ, typ)
		}
	}
}
