package questions

import "testing"

// TestVersions asks what changed between two builds of a program.
func TestVersions(t *testing.T) {
	t.Parallel()
	u := newUser(t, "peak")
	u.types("g++ -g -O1 -DCOPIES=4 -o report1 peak.cc && g++ -g -O1 -DCOPIES=6 -o report2 peak.cc")
	u.types("heaptap run -q -o before.htap ./report1 && heaptap run -q -o after.htap ./report2")
	byMassif := u.massif("./report2") - u.massif("./report1")
	byHeaptrack := u.heaptrack("./report2").peak - u.heaptrack("./report1").peak
	for _, w := range []*user{u, u.wide()} {
		d := w.types("heaptap diff before.htap after.htap").fits()
		d.says(2, `^before  \./report1 .*\nafter   \./report2 `)
		all := d.says(6, `^ +before +after +bytes +peak +.*\n +`+quantity+` +`+quantity+` +\+`+quantity+
			` .*\+`+quantity+` (?: +0 )? +all$`)
		near(t, "change of the peak, by massif", number(t, all[4]), byMassif, 0.01)
		near(t, "change of the peak, by heaptrack", number(t, all[4]), byHeaptrack, 0.02)
		// The first row that has changed is the function that did it, and its line.
		d.says(8, ` all\n.* grown(?:\n)? .*middle peak\.cc:33`)
		d = w.types("heaptap diff --by function --metric peak before.htap after.htap").fits()
		middle := d.says(8, ` all\n.* main report2\n +\S+ MB +\S+ MB +\+`+quantity+` .* middle report2`)
		near(t, "by function", number(t, middle[1]), byMassif, 0.01)
	}
	u.types("heaptap diff before.htap before.htap").says(8, `(?i)unchanged|nothing has changed`)
}
