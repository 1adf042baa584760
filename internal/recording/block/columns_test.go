package block

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

// TestColumnsAreSpecified: every column that can be written has a name, and the specification names as many.
func TestColumnsAreSpecified(t *testing.T) {
	t.Parallel()
	for id := colThreads; id < colEnd; id++ {
		if id > colChangeTemp && id < perThread {
			continue
		}
		if _, ok := EventColumnNames[id]; !ok {
			t.Errorf("column %d of events has no name", id)
		}
	}
	doc, err := os.ReadFile("../doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("columns 16 to %d, %d varints", colEnd-1, threadColumns); !bytes.Contains(doc,
		[]byte(want)) {
		t.Errorf("doc.go does not say %q", want)
	}
}
