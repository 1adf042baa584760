package questions

import "testing"

// TestResident asks why the resident set is three times what is live.
func TestResident(t *testing.T) {
	t.Parallel()
	u := newUser(t, "resident")
	u.types("gcc -g -O1 -o frames frames.c")
	h := u.holds("heaptap run ./frames")
	kernel := h.kernel("VmHWM")
	u.types("heaptap report").says(screen, `still running, .* recorded`)
	a := h.finish().summary().fits()
	live := number(t, a.says(2, `^  peak +`+quantity)[1])
	resident := number(t, a.says(3, `^  resident +`+quantity+` at most`)[1])
	near(t, "resident peak, by the kernel", resident, kernel, 0.03)
	near(t, "resident peak, by time", resident, u.maximum("./frames"), 0.05)
	near(t, "live, by massif", live, u.massif("./frames </dev/null"), 0.01)
	if resident < 3*live {
		t.Errorf("%.0f resident, %.0f live", resident, live)
	}
	// What lies between, in the first lines, and where it comes from.
	a.says(screen, `(?s)of `+quantity+` resident: 20\.0 MB live blocks, 41\.9 MB mapped by mmap`)
	a.says(screen, `most mapped of what was resident\n +41\.9 MB +\d\d\.\d %  map_frames frames\.c:20 ← main`)
	a.says(screen, `most live at the peak\n +20\.0 MB +100 %  make_thumbnails frames\.c:15 ← main`)

	for _, w := range []*user{u, u.wide()} {
		r := w.types("heaptap report").fits()
		r.says(screen, `^  peak +20\.0 MB .*\n  resident +`+quantity)
		r.says(30, `^MAPPED(?:.*\n){1,2} +41\.9 MB +\d\d\.\d %  map_frames +frames\.c:20`)
		m := w.types("heaptap memory").fits()
		sum := 0.0
		for _, part := range []string{`live blocks`, `the allocator's`, `mapped by the program itself`,
			`stacks of the threads`, `static data`, `files: `, `heaptap's own`, `rest$`} {
			sum += number(t, m.says(40, `^ +`+quantity+` +\S+ % +`+quantity+`  `+part)[1])
		}
		near(t, "sum of heaptap memory", sum, number(t, m.says(40, `^ +`+quantity+` +100 % +in all`)[1]), 0.01)
		w.types("heaptap top --metric mapped-resident").says(5, `41\.9 MB +100 % .* map_frames frames$`)
	}
}
