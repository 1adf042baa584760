package run

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
)

// levelCount is how many levels of a program the index keeps; of a program with few events there may be fewer.
const levelCount = 64

// mostLevels bounds how many levels of a program are read from an index.
const mostLevels = 1024

// Levels is how the memory of a program developed, in steps of about equal time from its start to its end. In JSON it
// is the base64 of varints: for each level the times since the level before in units of 100 ns, and by how many bytes
// Live and Resident have grown since then, both zigzag.
type Levels []Level

// Level is how much memory a program used at most in a step of time.
type Level struct {
	Time     int64 // the end of the step, ns since the program's start
	Live     int64 // bytes
	Resident int64 // bytes, as the kernel counts it; -1: not known
}

// MarshalJSON encodes the levels.
func (l Levels) MarshalJSON() ([]byte, error) {
	var b []byte
	last := Level{}
	for _, v := range l {
		v.Time -= v.Time % recording.Quantum
		b = binary.AppendUvarint(b, uint64(v.Time-last.Time)/recording.Quantum)
		b = binary.AppendVarint(b, v.Live-last.Live)
		b = binary.AppendVarint(b, v.Resident-last.Resident)
		last = v
	}
	return json.Marshal(b)
}

// UnmarshalJSON decodes what MarshalJSON has encoded.
func (l *Levels) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	var list Levels
	last := Level{}
	for len(b) > 0 {
		t, n := binary.Uvarint(b)
		live, m := binary.Varint(b[max(n, 0):])
		resident, k := binary.Varint(b[max(n, 0)+max(m, 0):])
		if n <= 0 || m <= 0 || k <= 0 || t > math.MaxInt64/2/recording.Quantum || len(list) == mostLevels {
			return errors.New("its levels cannot be read")
		}
		last = Level{last.Time + int64(t)*recording.Quantum, last.Live + live, last.Resident + resident}
		if last.Time < 0 || last.Live < 0 || last.Resident < -1 {
			return errors.New("its levels are invalid")
		}
		list = append(list, last)
		b = b[n+m+k:]
	}
	*l = list
	return nil
}

// levelsOf reads the levels of a recording. It decodes eight blocks of events at most: where there are more, steps end
// with blocks.
func levelsOf(ctx context.Context, rec *recording.Reader) (Levels, error) {
	from, to := rec.Cuts()
	last, err := rec.TimeAt(to)
	if err != nil {
		return nil, err
	}
	if e, ended := rec.Ending(); ended {
		last = max(last, e.End)
	}
	for _, s := range rec.Samples() {
		last = max(last, s.Time)
	}
	times := make([]int64, levelCount+1)
	for i := range times {
		i := int64(i)
		times[i] = last/levelCount*i + last%levelCount*i/levelCount
	}
	var line timetravel.Timeline
	steps, _, err := line.Steps(ctx, rec, from, to, times,
		timetravel.Precision{Slack: last / levelCount / 2, Blocks: 8})
	if steps == nil {
		return nil, err
	}
	for i := range steps {
		times[i] = steps[i].Time
	}
	resident := timetravel.MostSampled(rec.Samples(), times, true, func(s *event.Sample) int64 { return s.RSS })
	list := make(Levels, 0, levelCount)
	for i := 1; i < len(steps); i++ {
		if steps[i].Time == steps[i-1].Time {
			continue
		}
		v := Level{steps[i].Time, signed(steps[i].Most), -1}
		if resident != nil {
			v.Resident = resident[i-1]
		}
		list = append(list, v)
	}
	return list, nil
}

// readLevels reads the levels of a recording at a path; nil if it cannot be read.
func readLevels(path string) Levels {
	for _, open := range []func(string) (*recording.Reader, error){
		recording.OpenTimeline, // the tables take most of the time
		recording.Open,         // there may be more call stacks than are valid without their table
	} {
		rec, err := open(path)
		if err != nil {
			return nil
		}
		list, err := levelsOf(context.Background(), rec)
		_ = rec.Close()
		if err == nil {
			return list
		}
	}
	return nil
}

// mostOpen is how many recordings are open at a time.
const mostOpen = 8

// Levels returns the levels of each program, in the order of Programs. Those of programs that still run, and of runs of
// earlier versions, it reads from the recordings. A program whose recording cannot be read has none, and is in the
// error.
func (r *Run) Levels(ctx context.Context) ([]Levels, error) {
	out := make([]Levels, len(r.programs))
	var missing []int
	for i := range r.programs {
		if out[i] = r.programs[i].Levels; out[i] == nil {
			missing = append(missing, i)
		}
	}
	var mu sync.Mutex // of r and errs
	var errs []error
	next := make(chan int)
	var working sync.WaitGroup
	for range min(mostOpen, len(missing)) {
		working.Go(func() {
			for i := range next {
				mu.Lock()
				rec, err := r.OpenProgram(i)
				pid := r.programs[i].Pid
				mu.Unlock()
				if err == nil {
					out[i], err = levelsOf(ctx, rec)
					err = errors.Join(err, rec.Close())
				}
				if err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("process %d: %w", pid, err))
					mu.Unlock()
				}
			}
		})
	}
	for _, i := range missing {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	working.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return out, errors.Join(errs...)
}
