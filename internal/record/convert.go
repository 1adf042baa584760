package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/heaptap/heaptap/internal/clock"
	"github.com/heaptap/heaptap/internal/record/sampler"
	"github.com/heaptap/heaptap/internal/spool"
)

// Convert turns a spool that was left behind, by a process without recorder or by a recorder that died, into a
// recording. A spool that is still written to gives what it holds now. Children that the process forked get recordings
// of their own beside it. The spool stays as it is.
func Convert(ctx context.Context, spoolPath, outPath string) error {
	return convert(ctx, spoolPath, Config{Output: strings.ReplaceAll(outPath, "%", "%%")})
}

func convert(ctx context.Context, spoolPath string, config Config) error {
	s, err := spool.Open(spoolPath, "", false)
	if errors.Is(err, spool.ErrNotReady) {
		return fmt.Errorf("%s holds nothing: its process ended before the agent was up", spoolPath)
	}
	if err != nil {
		return err
	}
	defer s.Close()
	if dir := spillDir(s); dir != "" {
		s.SetSpillDir(dir)
	}
	var failed error
	report := config.Report
	config.Report = func(rep Report) {
		if rep.Err != nil && failed == nil {
			failed = rep.Err
		}
		if report != nil {
			report(rep)
		}
	}
	r := newRun(ctx, config)
	defer r.store.Close()
	reader := s.Reader()
	defer reader.Close()
	o := &source{spool: s, reader: reader, w: r.newWorker(s, !config.NotMain)}
	o.w.user = s.Info().Owner
	o.sink = sink{run: r, w: o.w}
	o.w.final = true
	o.w.counter0, o.w.mono0 = sameBoot(s)
	left, err := r.resume(o, filepath.Dir(spoolPath))
	if err != nil {
		return err
	}
	r.workers.Go(o.w.serve)
	err = r.readAll(ctx, o, left)
	reader.Missing()
	for slot := range o.members {
		end := &processEnded{slot: uint32(slot)}
		if slot == 0 && config.MainEnded != nil {
			end.status = <-config.MainEnded
		}
		if code, ok := o.reader.ExitStatus(uint32(slot)); ok && end.status == (Status{}) {
			end.status = Status{Exited: true, Code: code}
		}
		end.status.MaxRSS = max(end.status.MaxRSS, o.reader.MaxRSS(uint32(slot)))
		o.sink.add(end)
	}
	o.sink.push()
	o.w.queue.close()
	r.workers.Wait()
	if r.unit != nil {
		r.unit.Close()
	}
	if err == nil && len(o.members) == 0 {
		err = fmt.Errorf("%s does not name a process: it is damaged", spoolPath)
	}
	return errors.Join(err, failed)
}

// readAll takes everything from a spool, after what a recorder has left.
func (r *run) readAll(ctx context.Context, o *source, left []message) error {
	if len(left) > 0 {
		// Before the streams: what the journal has is older.
		r.pushProcesses(o)
		o.w.queue.push(left...)
	}
	for ctx.Err() == nil {
		err := o.reader.Round(&o.sink, func(uint32) bool { return true })
		r.pushProcesses(o)
		o.sink.push()
		if err != nil {
			// What was read before the damage is kept.
			o.sink.add(&noteAdded{err.Error()})
			return nil
		}
		if o.reader.Moved == 0 {
			return nil
		}
	}
	return ctx.Err()
}

func (r *run) pushProcesses(o *source) {
	list, _ := o.reader.Processes(o.known)
	for _, p := range list {
		o.known = p.Slot + 1
		o.members = append(o.members, &member{Life: o.peers.AddUnknown(p.PID)})
		o.w.queue.push(&processBegan{p, new(sampler.Layout)})
	}
	o.w.queue.push(o.partials()...)
}

// spillDir finds the folder of the spill file of a spool: the agent's, as its environment says, if the file is there.
func spillDir(s *spool.Spool) string {
	if exist(s.SpillPath()) {
		return ""
	}
	meta, err := s.Meta()
	if err != nil {
		return ""
	}
	for _, e := range meta.Env {
		dir, ok := strings.CutPrefix(e, "HEAPTAP_SPILL_DIR=")
		if ok && exist(filepath.Join(dir, filepath.Base(s.SpillPath()))) {
			return dir
		}
	}
	return ""
}

// sameBoot returns a reading of both clocks if the machine was not rebooted since the spool was made; else zeros.
func sameBoot(s *spool.Spool) (counter, mono uint64) {
	counter, mono = clock.Pair()
	info := s.Info()
	then, now := info.Wall-int64(info.Mono), time.Now().UnixNano()-int64(mono)
	if d := time.Duration(now - then).Abs(); d > 5*time.Minute || counter < info.Counter || mono < info.Mono {
		return 0, 0
	}
	return counter, mono
}

func exist(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
