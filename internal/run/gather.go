package run

import "github.com/heaptap/heaptap/internal/recording"

// Gather makes a run of recordings that are files of their own, as -o with %p makes them. target is the process that
// the user started; 0: it was not recorded. Files that cannot be read are left out.
func Gather(paths []string, target int) *Run {
	r := &Run{loose: true, over: true, info: Info{Pid: target}}
	for _, path := range paths {
		rec, err := recording.Open(path)
		if err != nil {
			continue
		}
		p := ProgramOf(rec)
		p.Member = path
		if rec.Close() == nil {
			r.index.programs = append(r.index.programs, p)
		}
	}
	r.arrange()
	return r
}
