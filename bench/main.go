package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "", "write the page to this file, and its charts to a folder of the same name")
	reps := flag.Int("reps", 5, "runs of each synthetic workload in each variant; real programs, and some variants, "+
		"run less often")
	scale := flag.Float64("scale", 1, "size of the workloads")
	only := flag.String("only", "", "measure the workloads whose names match this regular expression")
	heaptap := flag.String("heaptap", "", "an existing heaptap binary; built from this module if not given")
	rivals := flag.Bool("rivals", true, "measure the rivals, too, that are installed")
	slow := flag.Bool("slow", false, "instead, measure the slow rivals, once, on a tenth of the input, and write "+
		"their section of the page only")
	quick := flag.Bool("quick", false, "only try: tiny workloads, one run of each; the numbers mean nothing")
	gobenches := flag.Bool("go", true, "run the Go benchmarks of the recorder, the ledger, the spill codec and the "+
		"recording")
	large := flag.Float64("large", 1e8, "ask questions of a recording with so many events; 0: none")
	big := flag.Float64("big", 0, "instead, record so many events, ask for what a big recording must answer at once, "+
		"and write its section of the page only")
	short := flag.Bool("short", false, "instead, measure the script of short commands, and write its section of the "+
		"page only")
	ofAll := flag.Bool("all", false, "instead, measure what recording costs in all, target and everything beside it, "+
		"of larger programs and short commands, and write its section of the page only")
	ofStages := flag.Bool("stages", false, "instead, measure where the time beside the target goes, by stage of the "+
		"recorder, and write its section of the page only")
	ui := flag.Bool("ui", false, "instead, ask recordings what the web app asks, and write its section of the page "+
		"only: those named as arguments (a folder: a run of many processes), or those that it makes")
	browser := flag.Bool("browser", false, "instead, measure the web app in a browser with those recordings, and "+
		"write its section of the page only; -ui does that, too")
	recordings := flag.String("recordings", "", "with -ui and -browser: keep the recordings that they make in this "+
		"folder, and take those that are there; remove the folder to have them made anew. Without it, they are made "+
		"anew and removed")
	of := flag.String("of", "", "with -big: ask this recording instead")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if *slow {
		*reps, *gobenches, *large = 1, false, 0
		*scale /= 10
	}
	if *quick {
		*reps, *gobenches, *large = 1, false, 0
		*scale /= 50
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}
	dir, err := os.MkdirTemp("", "heaptap-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b, err := build(dir, *heaptap)
	if err != nil {
		return err
	}
	if *big > 0 {
		g, err := b.askBig(*big, *of)
		if err != nil {
			return err
		}
		return writeSection(*out, bigHeading, g.section())
	}
	if *ui {
		if err := b.askUI(*out, cmp.Or(*recordings, dir), flag.Args()); err != nil {
			return err
		}
	}
	if *ui || *browser {
		return b.measureBrowsers(*out, cmp.Or(*recordings, dir), flag.Args())
	}
	if *short {
		s, missing, err := b.runScript(*reps)
		if err != nil || s == nil {
			return cmp.Or(err, fmt.Errorf("not measured: %s", missing))
		}
		return writeSection(*out, scriptHeading, s.section())
	}
	all, missing, err := workloads(dir, *scale)
	if err != nil {
		return err
	}
	r := newResults(missing)
	for _, w := range all {
		if match.MatchString(w.name) {
			r.workloads = append(r.workloads, w)
		}
	}
	if *ofStages {
		section, err := b.askStages(r.workloads)
		if err != nil {
			return err
		}
		return writeSection(*out, stagesHeading, section)
	}
	if *ofAll {
		list, err := b.askInAll(r.workloads, match.MatchString, *scale, min(*reps, inAllReps))
		if err != nil {
			return err
		}
		list.missing = append(list.missing, r.missing...)
		return writeSection(*out, inAllHeading, list.section())
	}
	var none []string
	r.variants, none = b.variants(*rivals, *slow)
	r.missing = append(r.missing, none...)
	for _, m := range r.missing {
		fmt.Fprintf(os.Stderr, "not measured: %s\n", m)
	}
	for i := range r.workloads {
		if err := b.measure(r, &r.workloads[i], *reps); err != nil {
			return err
		}
	}
	if !*slow && match.MatchString(scriptName) {
		var none string
		if r.script, none, err = b.runScript(*reps); err != nil {
			return err
		}
		if none != "" {
			r.missing = append(r.missing, none)
		}
	}
	if *gobenches {
		if err := b.benchmarks(r); err != nil {
			return err
		}
	}
	if *large > 0 {
		if r.large, err = b.askLarge(*large); err != nil {
			return err
		}
	}
	page, err := r.write(*out, *slow)
	fmt.Print("\n", page)
	return err
}

// write returns the page, and writes it into a file if one is given. It replaces only the part that was measured.
func (r *results) write(out string, slow bool) (page string, err error) {
	var old []byte
	if out != "" {
		if old, err = os.ReadFile(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	pictures := r.pictures
	if slow {
		page, pictures = withSection(string(old), slowHeading, r.slowSection(out)), r.slowPictures
	} else {
		page = r.page(out, keptSection(string(old), slowHeading, slowUnmeasured), keptSection(string(old), bigHeading,
			bigUnmeasured), keptSection(string(old), scriptHeading, ""))
		for _, heading := range []string{inAllHeading, stagesHeading, uiHeading, browserHeading} {
			if kept := keptSection(string(old), heading, ""); kept != "" {
				page = withSection(page, heading, kept)
			}
		}
	}
	if out == "" {
		return page, nil
	}
	if err := os.WriteFile(out, []byte(page), 0o644); err != nil {
		return page, err
	}
	return page, writePictures(out, pictures())
}
