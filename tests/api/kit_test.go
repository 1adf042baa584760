package api

import (
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/tests/kit"
)

func TestMain(m *testing.M) { kit.Main(m) }

// include is the option by which compilers find the headers.
func include(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../include")
	if err != nil {
		t.Fatal(err)
	}
	return "-I" + path
}

// compile makes a program of a source by gcc or g++ and returns its path. The compilers are not to leave out
// allocations.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	compiler, standard := "gcc", "-std=c99"
	if filepath.Ext(source) == ".cc" {
		compiler, standard = "g++", "-std=c++17"
	}
	return compileBy(t, compiler, source, append([]string{standard}, flags...)...)
}

func compileBy(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	args := []string{"-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_GNU_SOURCE", include(t), source}
	return kit.Compile(t, compiler, append(args, flags...)...)
}
