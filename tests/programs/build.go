package programs

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/tests/count"
)

//go:embed src
var sources embed.FS

// Kit is what the cases need: heaptap, the counting library and the compiled programs, all in one folder.
type Kit struct {
	Dir     string
	Heaptap string
	Count   string // the counting library
}

// Build builds everything in dir. heaptap names an existing binary; if it is "", one is built from this module.
func Build(dir, heaptap string) (*Kit, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	k := &Kit{Dir: dir}
	if k.Heaptap, err = BuildHeaptap(dir, heaptap); err != nil {
		return nil, err
	}
	if k.Count, err = count.Build(dir); err != nil {
		return nil, err
	}
	return k, BuildPrograms(dir)
}

// BuildHeaptap returns the path of the heaptap binary: existing, or, if that is "", one that it builds in dir.
func BuildHeaptap(dir, existing string) (string, error) {
	if existing != "" {
		return filepath.Abs(existing)
	}
	path := filepath.Join(dir, "heaptap")
	cmd := exec.Command("go", "build", "-o", path, "github.com/heaptap/heaptap/cmd/heaptap")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./cmd/heaptap: %w\n%s", err, out)
	}
	return path, nil
}

// Headers returns the folder of the headers that programs include.
func Headers() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/heaptap/heaptap").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "include"), nil
}

// BuildPrograms compiles the programs of src into dir: NAME.c and NAME.cc become NAME, plugin.cc plugin.so.
func BuildPrograms(dir string) error {
	src := filepath.Join(dir, "src")
	if err := os.MkdirAll(src, 0o755); err != nil {
		return err
	}
	names, err := fs.Glob(sources, "src/*")
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := fs.ReadFile(sources, name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		out, flags := strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)), []string(nil)
		switch out {
		case "heavy": // the input of a case, not a program
			continue
		case "plugin":
			out, flags = "plugin.so", []string{"-shared", "-fPIC"}
		}
		if err := Compile(path, filepath.Join(dir, out), flags...); err != nil {
			return err
		}
	}
	return nil
}

// Compile compiles a program from one C or C++ source.
func Compile(source, out string, flags ...string) error {
	compiler, standard := "gcc", "-std=gnu11"
	if filepath.Ext(source) == ".cc" {
		compiler, standard = "g++", "-std=c++17"
	}
	args := append([]string{standard, "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", out, source,
		"-ldl"}, flags...)
	if b, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", compiler, source, err, b)
	}
	return nil
}

// Path returns the path of a file in the kit's folder.
func (k *Kit) Path(name string) string { return filepath.Join(k.Dir, name) }
