package exports

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// drawn is a rectangle of a flame graph.
type drawn struct {
	Begin uint64 `xml:"data-b,attr"`
	Value uint64 `xml:"data-v,attr"`
	Depth int    `xml:"data-d,attr"`
	Title string `xml:"title"`
	Rect  struct {
		X     float64 `xml:"x,attr"`
		Y     float64 `xml:"y,attr"`
		Width float64 `xml:"width,attr"`
	} `xml:"rect"`
	Text struct {
		X     float64 `xml:"x,attr"`
		Label string  `xml:",chardata"`
	} `xml:"text"`
}

func readSVG(t *testing.T, path string) []drawn {
	t.Helper()
	var svg struct {
		XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
		G       []struct {
			ID     string  `xml:"id,attr"`
			Frames []drawn `xml:"g"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal([]byte(read(t, path)), &svg); err != nil {
		t.Fatal(err)
	}
	for _, g := range svg.G {
		if g.ID == "flames" {
			return g.Frames
		}
	}
	t.Fatal("no flames")
	return nil
}

// TestSVG checks the geometry: every frame lies within its caller, none on another one, and is as wide as its value.
func TestSVG(t *testing.T) {
	each(t, func(t *testing.T, name, path string) {
		want := totals(t, path)
		list := readSVG(t, exported(t, "svg", path, "--metric", "bytes"))
		root := list[0]
		if root.Value != want["bytes"] || root.Depth != 0 {
			t.Errorf("the root is %+v, expected %d bytes", root, want["bytes"])
		}
		above := []drawn{root} // the way to the frame before
		ends := map[int]uint64{}
		deepest := 0
		for _, f := range list[1:] {
			if f.Depth > len(above) {
				t.Fatalf("%q has no caller", f.Title)
			}
			above = append(above[:f.Depth], f)
			caller := above[f.Depth-1]
			if f.Begin < caller.Begin || f.Begin+f.Value > caller.Begin+caller.Value {
				t.Errorf("%.100q is not within its caller", f.Title)
			}
			if f.Begin < ends[f.Depth] {
				t.Errorf("%.100q lies on another frame", f.Title)
			}
			ends[f.Depth] = f.Begin + f.Value
			if scale := root.Rect.Width / float64(root.Value); f.Rect.Width > float64(f.Value)*scale+0.2 ||
				f.Rect.X < float64(f.Begin)*scale-0.2 {
				t.Errorf("%.100q is at %v", f.Title, f.Rect)
			}
			if n := float64(len([]rune(f.Text.Label))) * 6.63; n > f.Rect.Width {
				t.Errorf("the label %q is wider than its frame", f.Text.Label)
			}
			deepest = max(deepest, f.Depth)
		}
		if name == "torture" && deepest != 5000 {
			t.Errorf("%d levels", deepest)
		}
	})
}

// TestSVGInBrowser has Chromium run the script: after a click on a frame, it and its callers are as wide as the window.
func TestSVGInBrowser(t *testing.T) {
	chromium := need.Tool(t, "chromium")
	version, _ := exec.Command(chromium, "--version").Output()
	t.Logf("%s", version)
	each(t, func(t *testing.T, name, path string) {
		if name != "four" && name != "torture" {
			return
		}
		file := filepath.Join(t.TempDir(), "flame.svg")
		click := map[string]string{"four": "build", "torture": "plugin"}[name]
		script := `<script><![CDATA[
document.querySelectorAll('.f').forEach(g => {
	if (!window.done && g.firstElementChild.textContent.includes('` + click + `')) {
		window.done = true; g.dispatchEvent(new MouseEvent('click', {bubbles: true}));
	}
});
const input = document.querySelector('input'); input.value = '` + click + `'; input.dispatchEvent(new Event('input'));
const wide = [...document.querySelectorAll('.f')].filter(
	g => g.style.display === '' && +g.children[1].getAttribute('width') > innerWidth - 50);
document.documentElement.setAttribute('data-test', wide.length + ' ' +
	wide.filter(g => g.classList.contains('above')).length + ' ' +
	document.querySelectorAll('.found').length + ' ' + document.getElementById('details').textContent);
]]></script></svg>`
		text := strings.Replace(read(t, exported(t, "svg", path, "--metric", "bytes")), "</svg>", script, 1)
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(chromium, "--headless", "--no-sandbox", "--disable-gpu",
			"--user-data-dir="+t.TempDir(), "--window-size=1000,700",
			"--dump-dom", "file://"+file).Output()
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`data-test="(\d+) (\d+) (\d+) ([^"]*)"`).FindStringSubmatch(string(out))
		if m == nil {
			t.Fatalf("the script did not run: %.500s", out)
		}
		wide, _ := strconv.Atoi(m[1])
		above, _ := strconv.Atoi(m[2])
		if found, _ := strconv.Atoi(m[3]); wide < 2 || above < 1 || wide <= above || found < 1 ||
			!strings.Contains(m[4], "found, ") {
			t.Errorf("%q", m[1:])
		}
	})
}
