package namesource

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heaptap/heaptap/internal/elfx"
)

// TestOf: the package of a file that is the recording's, whichever of /lib and /usr/lib the package names.
func TestOf(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	image, err := os.ReadFile("../../agent/lib/libheaptap.amd64.so")
	if err != nil {
		t.Fatal(err)
	}
	f, err := elfx.FromBytes("image", image)
	if err != nil {
		t.Fatal(err)
	}
	id := f.BuildID()
	write("usr/lib/libshop.so.1.2", string(image))
	if err := os.Symlink("libshop.so.1.2", filepath.Join(root, "usr/lib/libshop.so.1")); err != nil {
		t.Fatal(err)
	}
	write("home/u/libshop.so.1.2", string(image))
	write("usr/lib/libown.so", string(image))
	write("usr/lib/libc.so.6", string(image))
	write("var/lib/dpkg/info/libshop1:amd64.list", "/.\n/lib/libshop.so.1.2\n/usr/share/doc\n")
	write("var/lib/dpkg/info/libc6:amd64.list", "/usr/lib/libc.so.6\n")
	write("etc/os-release", "NAME=\"Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n")
	const ubuntu = "https://debuginfod.ubuntu.com"
	s := System{Root: root}
	for _, c := range []struct {
		path string
		id   []byte
		want Source
	}{
		{"/usr/lib/libshop.so.1.2", id, Source{"libshop1-dbgsym", ubuntu}},
		{"/usr/lib/libshop.so.1", id, Source{"libshop1-dbgsym", ubuntu}},
		{"/usr/lib/libc.so.6", id, Source{"libc6-dbg", ubuntu}},
		{"/usr/lib/libown.so", id, Source{"", ubuntu}},
		{"/usr/lib/libshop.so.1.2", []byte("another build"), Source{"", ubuntu}},
		{"/usr/lib/libshop.so.1.2", nil, Source{"", ubuntu}},
		{"/usr/lib/gone.so", id, Source{"", ubuntu}},
		{"/usr/lib", id, Source{"", ubuntu}},
		{"/usr/../usr/lib/libshop.so.1.2", id, Source{"", ubuntu}},
		{"/home/u/libshop.so.1.2", id, Source{"", ubuntu}},
	} {
		if got := s.Of(c.path, c.id); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.path, got, c.want)
		}
	}
	write("etc/os-release", "ID=homemade\n")
	if got := s.Of("/usr/lib/libown.so", id); got != (Source{}) {
		t.Errorf("an unknown system: %+v", got)
	}
}
