package schema

import (
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/goldentest"
)

// TestFiles: what is generated is what the tables say.
func TestFiles(t *testing.T) {
	api, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..", "..", "..")
	goldentest.Check(t, filepath.Join(root, "docs", "openapi.json"), append(api, '\n'))
	goldentest.Check(t, filepath.Join(root, "ui", "src", "api.ts"), TypeScript())
}

// TestNoFieldIsAmbiguous: the decoder of the web app can tell texts from large integers by the names of fields.
func TestNoFieldIsAmbiguous(t *testing.T) {
	if names := Ambiguous(); names != nil {
		t.Errorf("fields %v are texts in one answer and integers in another: rename one", names)
	}
}
