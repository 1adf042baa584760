package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/formats"
)

// TestExtremeExports writes the extreme recordings in all formats, their variants and groupings.
func TestExtremeExports(t *testing.T) {
	t.Parallel()
	var cases []string
	for _, name := range export.Names(formats.All) {
		cases = append(cases, "-f "+name, "-f "+name+" --from 50% --focus .", "-f "+name+" --hide .")
	}
	for _, f := range formats.All {
		for _, by := range f.By {
			cases = append(cases, "-f "+f.Name+" --by "+by.String())
		}
	}
	for name, write := range extremes {
		if name == "deep" { // an allocation at each depth makes files of gigabytes in most formats
			write = func(t *testing.T, path string) { writeDeep(t, path, 50) }
		}
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.htap")
			to := path + ".out"
			write(t, path)
			for _, c := range cases {
				args := append([]string{"export", "-o", to, path}, strings.Fields(c)...)
				if name == "deep" { // by a binary without the race detector, which would take minutes
					if out, err := plainCommand(t, args...).CombinedOutput(); err != nil {
						t.Errorf("heaptap export %s: %v\n%s", c, err, out)
					}
				} else if status := execute(args); status != 0 {
					t.Errorf("heaptap export %s: status %d", c, status)
				}
				if err := os.Remove(to); err != nil {
					t.Errorf("heaptap export %s: %v", c, err)
				}
			}
		})
	}
}

// TestFormats: every format has its own name and a complete description.
func TestFormats(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range formats.All {
		if seen[f.Name] || f.Name == "" || f.Tool == "" || f.Keeps == "" || f.Loses == "" ||
			!strings.HasPrefix(f.Extension, ".") || f.Write == nil {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
		for _, name := range export.Names([]*export.Format{f}) {
			found, v, ok := export.Find(formats.All, name)
			if !ok || found != f || !strings.HasPrefix(f.FileExtension(v), ".") {
				t.Errorf("%s is not found", name)
			}
		}
		if by := f.By; by != nil && f.Metrics == nil {
			t.Errorf("%s: groups of nothing", f.Name)
		}
	}
}
