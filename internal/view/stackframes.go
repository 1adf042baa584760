package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/answer"
	"github.com/heaptap/heaptap/internal/framesize"
	"github.com/heaptap/heaptap/internal/funcname"
	"github.com/heaptap/heaptap/internal/humanize"
	"github.com/heaptap/heaptap/internal/profile"
)

// stackFramesShown is how many lines of frames are shown of a thread's deepest stack: those that take most of it.
const stackFramesShown = 40

// framesLine is a frame of a call stack, or several in a row with the same pc: a recursion.
type framesLine struct {
	pc          uint32
	size, times uint64 // size 0: unknown
}

// stackFrames writes the deepest stack of each thread frame by frame, with the bytes that each takes.
func (a *answerText) stackFrames(sizes *framesize.Sizes) {
	list, left := answer.Cut(a.Page, a.p.StackMemory)
	for i := range list {
		if i > 0 {
			a.printf("\n")
		}
		a.framesOf(&list[i], sizes)
	}
	a.more(left)
	for _, note := range sizes.Notes {
		a.printf("  %s\n", a.faint(clean(note)))
	}
}

func (a *answerText) framesOf(m *profile.StackMemory, sizes *framesize.Sizes) {
	sum := sizes.Stack(a.p, m)
	a.printf("%s  %s\n", a.title("FRAMES OF ")+threadName(a.s, m.Thread),
		a.faint(a.size(m.Deepest)+" at its deepest event; what each frame takes of that"))
	lines := framesLines(a.p, m.Stack, sizes, sum.Conflict)
	shown := mostBytes(lines, stackFramesShown)
	a.printf("%s\n", a.faint("      frame   times     total   share  function"))
	var gap framesLine // what is left out: the number of frames, and their bytes
	flush := func() {
		if gap.times > 0 {
			a.printf("  %s %s\n", padLeft("", 33), a.faint(fmt.Sprintf("… %s, %s", humanize.Plural(gap.times,
				"more frame"), a.size(gap.size))))
		}
		gap = framesLine{}
	}
	for i := range lines {
		l := &lines[i]
		if !shown[i] {
			gap.times += l.times
			gap.size += l.size * l.times
			continue
		}
		flush()
		a.framesLine(l, m.Deepest)
	}
	flush()
	if sum.Conflict {
		a.printf("  %s\n", a.faint(framesize.Note(threadName(a.s, m.Thread))))
		return
	}
	what := "above the outermost frame"
	if sum.Frames > 0 {
		what = fmt.Sprintf("of %s of unknown size, and above the outermost one",
			humanize.Plural(uint64(sum.Frames), "frame"))
	}
	a.printf("  %s %s  %s\n", padLeft(a.size(sum.Unknown), 27), padLeft(humanize.Percent(sum.Unknown, m.Deepest), 7),
		a.faint(what))
}

// framesLine writes a line for a pc, and one for each function that is inlined there.
func (a *answerText) framesLine(l *framesLine, depth uint64) {
	size, total, share, times := "unknown", "", "", ""
	if l.size > 0 {
		size, total = a.size(l.size), a.size(l.size*l.times)
		share = humanize.Percent(l.size*l.times, depth)
	}
	if l.times > 1 {
		times = "×" + a.short(l.times)
	}
	numbers := fmt.Sprintf("  %s %s %s %s  ", a.bold(padLeft(size, 9)), padLeft(times, 7), padLeft(total, 9),
		padLeft(share, 7))
	frames := []profile.Frame{{Function: profile.CutName}}
	if l.pc != profile.CutPC {
		frames = a.p.PCFrames(l.pc)
	}
	for i := range frames {
		f := &frames[i]
		left := numbers
		if f.Inlined {
			left = strings.Repeat(" ", 39)
		}
		where := ""
		if f.File != "" {
			where = base(f.File)
			if f.Line > 0 {
				where += fmt.Sprintf(":%d", f.Line)
			}
		} else {
			where = base(f.Module)
		}
		room := max(a.leastName(), a.Width-39-runes(where)-1)
		name := address(f)
		if f.Function != "" {
			name = funcname.Short(f.Function, room)
		}
		a.printf("%s%s %s\n", left, funcname.Middle(name, room), a.place(where))
	}
}

// framesLines returns the frames of a stack, leaf to root.
func framesLines(p *profile.Profile, stack uint32, sizes *framesize.Sizes, unknown bool) (list []framesLine) {
	p.PCs(stack, func(pc uint32) bool {
		if n := len(list); n > 0 && list[n-1].pc == pc {
			list[n-1].times++
			return true
		}
		l := framesLine{pc: pc, times: 1}
		if !unknown {
			l.size = sizes.Of(pc)
		}
		list = append(list, l)
		return true
	})
	return list
}

// mostBytes says which of the lines are the n that take most.
func mostBytes(list []framesLine, n int) []bool {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		return cmp.Compare(list[y].size*list[y].times, list[x].size*list[x].times)
	})
	shown := make([]bool, len(list))
	for _, i := range order[:min(n, len(order))] {
		shown[i] = true
	}
	return shown
}
