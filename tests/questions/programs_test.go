package questions

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/tests/need"
)

// TestNode asks what a node process holds: buffers are blocks; V8's heap is a mapping, named, with a way to look into
// it.
func TestNode(t *testing.T) {
	t.Parallel()
	need.Tool(t, "node")
	u := newUser(t, "node")
	h := u.holds("heaptap run node cache.js")
	kernel := h.kernel("VmHWM")
	a := h.finish()
	var usage struct { // what node says itself
		Physical     float64 `json:"total_physical_size"`
		ArrayBuffers float64
	}
	if err := json.Unmarshal([]byte(strings.SplitN(h.printed, "\n", 2)[0]), &usage); err != nil {
		t.Fatal(err, h.printed)
	}
	a = a.summary().fits()
	a.says(1, `^node cache\.js · .* exit status 0$`)
	near(t, "resident peak, by the kernel", number(t, a.says(screen, `^  resident +`+quantity)[1]), kernel, 0.1)
	heap := number(t, a.says(screen, `^ +`+quantity+` in V8's heap:`)[1])
	near(t, "V8's heap, by node", heap, usage.Physical, 0.2)
	peak := number(t, a.says(screen, `^  peak +`+quantity)[1])
	if peak < usage.ArrayBuffers || peak > 2*usage.ArrayBuffers {
		t.Errorf("peak %.0f, node has %.0f in buffers", peak, usage.ArrayBuffers)
	}
	for _, w := range []*user{u, u.wide()} {
		r := w.types("heaptap report").fits()
		r.says(1, `^node cache\.js$`)
		r.says(70, `^MOST LIVE AT PEAK.*\n +`+quantity+` +\d\d\.\d %  .*(ArrayBufferAllocator|…::AllocateUninit)`)
		w.types("heaptap memory").fits().says(screen, `^ +`+quantity+` .*V8's heap`)
	}
	buffers := u.wide().types("heaptap top --by function --limit 0").says(1000, quantity+
		` .* node::NodeArrayBufferAllocator::Allocate\w*|`+quantity+` .*BackingStore::Allocate`)
	near(t, "buffers, by node", number(t, buffers[1]+buffers[2]), usage.ArrayBuffers, 0.1)
}

// TestGit asks which of git's processes takes most, and where.
func TestGit(t *testing.T) {
	t.Parallel()
	need.Tool(t, "git")
	u := newUser(t, "").has("GIT_CONFIG_GLOBAL=/dev/null").has("GIT_CONFIG_SYSTEM=/dev/null")
	u.types("git init -q r && cd r && git config user.name a && git config user.email a@example.com && " +
		"seq 400000 > numbers && git add numbers && git commit -qm one && " +
		"seq 0 3 400000 > numbers && git commit -qam two")
	a := u.types("heaptap run git -C r diff --stat HEAD~1 HEAD").summary().fits()
	a.says(1, `^git -C r diff --stat HEAD~1 HEAD · `)
	peak := number(t, a.says(2, `^  peak +`+quantity)[1])
	judge := u.heaptrack("git -C r diff --stat HEAD~1 HEAD")
	near(t, "peak", peak, judge.peak-emergency, 0.02)
	r := u.types("heaptap report").fits()
	r.says(screen, `^  peak +`+quantity)
	r.says(60, `^MOST LIVE AT PEAK.*\n +`+quantity+` +\d\d\.\d %  `)

	u.types("rm -r *.htap")
	u.types("heaptap run git clone -q --bare --no-local r clone")
	for _, w := range []*user{u, u.wide()} {
		ps := w.types("heaptap ps").fits()
		ps.says(1, `^git clone -q --bare --no-local r clone$`)
		ps.says(20, quantity+` .* git clone`)
		ps.says(20, quantity+` .* git(?: |-)pack-objects`)
		ps.says(20, quantity+` .* git(?: |-)index-pack`)
	}
}

// TestFFmpeg asks where ffmpeg's memory goes: a program of Debian, without names of its own functions.
func TestFFmpeg(t *testing.T) {
	t.Parallel()
	need.Tool(t, "ffmpeg")
	u := newUser(t, "")
	const command = "ffmpeg -v error -f lavfi -i testsrc=duration=1:size=640x360:rate=25 -threads 1 " +
		"-filter_threads 1 -c:v mpeg4 -f null -"
	a := u.types("heaptap run " + command).summary().fits()
	a.says(1, `^ffmpeg -v error -f lavfi .* · .*exit status 0$`)
	peak := number(t, a.says(2, `^  peak +`+quantity)[1])
	a.says(screen, `most live at the peak\n +`+quantity+` +\d\d\.\d %  .*av_`)
	near(t, "peak", peak, u.heaptrack(command).peak, 0.05)
	for _, w := range []*user{u, u.wide()} {
		r := w.types("heaptap report").fits()
		r.says(40, `^MOST LIVE AT PEAK.*\n +`+quantity+` +\d\d\.\d %  av_\w+`)
	}
}
