package schema

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/heaptap/heaptap/internal/api"
	"github.com/heaptap/heaptap/internal/api/apitest"
	"github.com/heaptap/heaptap/internal/columns/columnstest"
	"github.com/heaptap/heaptap/internal/goldentest"
	"github.com/heaptap/heaptap/internal/input"
)

// TestFiles: what is generated is what the tables say.
func TestFiles(t *testing.T) {
	document, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..", "..", "..")
	goldentest.Check(t, filepath.Join(root, "docs", "openapi.json"), append(document, '\n'))
	goldentest.Check(t, filepath.Join(root, "ui", "src", "api.ts"), TypeScript())
}

// TestNoFieldIsAmbiguous: the decoder of the web app can tell texts from large integers by the names of fields.
func TestNoFieldIsAmbiguous(t *testing.T) {
	if names := Ambiguous(); names != nil {
		t.Errorf("fields %v are texts in one answer and integers in another: rename one", names)
	}
}

// TestAnswersFitTheirSchemas puts every question to recordings of all kinds, and checks what comes back against the
// document: answers of every type, and errors.
func TestAnswersFitTheirSchemas(t *testing.T) {
	t.Parallel()
	document, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	x, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("openapi.json", x); err != nil {
		t.Fatal(err)
	}
	a, err := api.New(t.Context(), api.Options{Finder: &input.Finder{}, Args: apitest.Recordings(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	seen := map[string]int{}
	check := func(path, schema string) {
		t.Helper()
		w := httptest.NewRecorder()
		for ask := true; ask; ask = strings.Contains(w.Body.String(), `"not-ready"`) {
			w = httptest.NewRecorder()
			a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/"+path, nil))
		}
		lines := strings.Split(strings.TrimSuffix(w.Body.String(), "\n"), "\n")
		last := lines[len(lines)-1]
		if strings.HasPrefix(last, `{"error"`) {
			schema = "Error"
		}
		seen[schema]++
		s, err := c.Compile("openapi.json#/components/schemas/" + schema)
		if err != nil {
			t.Fatal(err)
		}
		body, err := jsonschema.UnmarshalJSON(strings.NewReader(last))
		if err == nil {
			err = s.Validate(body)
		}
		if err != nil {
			t.Errorf("%s: %.1500v\n%.300s", path, err, last)
		}
	}
	check("session", "SessionAnswer")
	for _, id := range recordings(t, a) {
		check("r/"+id+"/notes", "NotesAnswer")
		for i := range api.Questions {
			q := &api.Questions[i]
			for _, query := range append([]string{"", "nonsense=1"}, more[q.Name]...) {
				check("r/"+id+"/"+q.Name+"?"+query, upper(q.Name)+"Answer")
			}
		}
	}
	check("session", "SessionAnswer") // now it says what recordings can answer
	check("r/x/top", "Error")
	for i := range api.Questions {
		if name := upper(api.Questions[i].Name) + "Answer"; seen[name] == 0 {
			t.Errorf("no %s was checked", name)
		}
	}
}

// more are queries that lead to the other forms of answers.
var more = map[string][]string{
	"report":   {"top=0", "from=10%25&to=90%25", "focus=(("},
	"top":      {"by=stack&metric=leaked,mean-lifetime,recycling", "by=thread", "by=size", "by=region", "by=address"},
	"tree":     {"threshold=0", "up", "of=parse", "by=thread", "by=stack&depth=2"},
	"timeline": {"top=3", "stack", "top=2&by=size&steps=7"},
	"process":  {"rough=pixel", "from=25%25&steps=50"},
	"source":   {"function=parse", "file=0", "file=0&line=3"},
	"regions":  {"sort=highest"},
	"memory":   {"at=50%25"},
	"rise":     {"from=10%25&to=90%25&limit=2", "by=thread", "rough=pixel"},
}

// recordings returns the ids of the recordings that matter, by run.
func recordings(t *testing.T, a http.Handler) (ids []string) {
	t.Helper()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/session", nil))
	b, err := json.Marshal(columnstest.Decode(t, bytes.TrimSpace(w.Body.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	var s struct{ Runs []struct{ Matters string } }
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	for _, r := range s.Runs {
		ids = append(ids, r.Matters)
	}
	return ids
}
