package svg

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/query"
)

// paint gives each module a hue, and each function a shade of its module's hue. The runtime is grey.
type paint struct {
	legend []owner // by what they allocate themselves, largest first
	by     map[string]int
}

// owner is a module or, for groups that have none, what they are coloured by instead.
type owner struct {
	name   string
	number int // index among all owners
	hue    int
	grey   bool
}

// hues are in degrees, far enough apart to be distinguished.
var hues = []int{26, 212, 145, 280, 190, 335, 52, 245, 100, 5}

// shades is the number of shades of a hue.
const shades = 3

// newPaint assigns colours to the owners of all frames.
func newPaint(list []frame, weigh func(*frame) uint64) *paint {
	weight := make(map[string]uint64)
	for i := range list {
		if !list[i].root {
			weight[ownerName(&list[i].group)] += weigh(&list[i])
		}
	}
	p := &paint{by: make(map[string]int)}
	names := slices.SortedFunc(maps.Keys(weight), func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b))
	})
	taken := make(map[int]bool)
	for i, name := range names {
		o := owner{name: name, number: i, grey: name == noModule || profile.RuntimeModule(name)}
		if !o.grey {
			o.hue = choose(name, taken)
		}
		p.by[name] = i
		p.legend = append(p.legend, o)
	}
	return p
}

// choose returns the hue that follows from a name's hash, or the next free one if that is taken.
func choose(name string, taken map[int]bool) int {
	if len(taken) == len(hues) {
		clear(taken)
	}
	i := int(hash(name) % uint32(len(hues)))
	for taken[i] {
		i = (i + 1) % len(hues)
	}
	taken[i] = true
	return hues[i]
}

const noModule = "[no file]"

// ownerName returns the name that decides a group's hue.
func ownerName(g *query.Group) string {
	switch {
	case g.By.OfBlocks():
		return g.By.String()
	case g.By == query.ByFile && g.File != "":
		return g.File[strings.LastIndexByte(g.File, '/')+1:]
	case g.Module != "":
		return g.Module[strings.LastIndexByte(g.Module, '/')+1:]
	}
	return noModule
}

func hash(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}

// class returns the CSS class of a group's frames.
func (p *paint) class(g *query.Group) string {
	return p.legend[p.by[ownerName(g)]].class(int(hash(fmt.Sprint(g.Function, g.File, g.Offset)) % shades))
}

func (o *owner) class(shade int) string { return fmt.Sprintf("m%d-%d", o.number, shade) }

// css returns the colours as a style sheet.
func (p *paint) css() string {
	var light, dark strings.Builder
	for i := range p.legend {
		o := &p.legend[i]
		saturation := 54
		if o.grey {
			saturation = 0
		}
		for s := range shades {
			fmt.Fprintf(&light, ".%s{fill:%s}\n", o.class(s), rgb(o.hue, saturation, 74+4*s))
			fmt.Fprintf(&dark, ".%s{fill:%s}\n", o.class(s), rgb(o.hue, saturation*2/3, 30+4*s))
		}
	}
	return light.String() + "@media screen and (prefers-color-scheme:dark){\n" + dark.String() + "}\n"
}

// rgb converts hue (degrees), saturation and lightness (percent) to a notation that every SVG viewer understands.
func rgb(hue, saturation, lightness int) string {
	s, l := float64(saturation)/100, float64(lightness)/100
	channel := func(n int) int {
		k := float64((n*30+hue)%360) / 30
		return int(255*(l-s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1))) + 0.5)
	}
	return fmt.Sprintf("#%02x%02x%02x", channel(0), channel(8), channel(4))
}
