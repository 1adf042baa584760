package serve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// contentTypes are those of the app's files, by extension. The system's own list may say anything.
var contentTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".ico":  "image/x-icon",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".png":  "image/png",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// app serves the files of the web app from memory. There are no folders: a path is a file, or nothing.
type app map[string]*asset

type asset struct {
	kind       string
	tag        string // of the content: its hash
	content    []byte
	compressed func() []byte // nil: not worth it
}

func newApp(files fs.FS) (app, error) {
	a := app{}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		kind := contentTypes[path.Ext(name)]
		if kind == "" {
			return fmt.Errorf("%s: the content type of such files is not known", name)
		}
		hash := sha256.Sum256(content)
		f := &asset{kind: kind, tag: hex.EncodeToString(hash[:16]), content: content}
		if kind != "image/png" && len(content) > 1000 {
			f.compressed = sync.OnceValue(func() []byte { return compress(content) })
		}
		a["/"+name] = f
		return nil
	})
	a["/"] = a["/index.html"]
	if err == nil && a["/"] == nil {
		err = fmt.Errorf("index.html: %w", fs.ErrNotExist)
	}
	return a, err
}

func compress(content []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(content) // to memory
	_ = w.Close()
	return b.Bytes()
}

func (a app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f := a[r.URL.Path]
	if f == nil {
		refusePath.ServeHTTP(w, r)
		return
	}
	content, tag := f.content, f.tag
	h := w.Header()
	if f.compressed != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			content, tag = f.compressed(), f.tag+"-gzip"
			h.Set("Content-Encoding", "gzip")
		}
	}
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache") // ask every time; the tag makes that cheap
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// acceptsGzip reads an Accept-Encoding header.
func acceptsGzip(header string) bool {
	for _, part := range strings.Split(header, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, found := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			return !found || err == nil && weight > 0
		}
	}
	return false
}
