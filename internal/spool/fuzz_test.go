package spool

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heaptap/heaptap/internal/spool/spooltest"
	"github.com/heaptap/heaptap/internal/wire"
)

// baseSpool makes a small spool with a bit of everything, and returns the bytes of its two files.
func baseSpool(tb testing.TB) (main, extra []byte) {
	a := spooltest.New(tb, tb.TempDir(), "p", 1)
	a.Patience = 0
	a.Publish()
	for i := range uint32(20) {
		a.Node(i/2, a.PC(uint64(i)+0x1000, 1))
	}
	a.Module(wire.Module{Kind: wire.ModuleLoad, ID: 1}, "id", "/lib/x.so")
	a.Counts().Rows[wire.KMalloc].Calls = 1
	for i := range uint64(3) {
		st := a.Stream(0, uint32(i), 0, "t")
		for k := range 9000 * (3 - i) {
			st.Write(number(k))
		}
		if i == 1 {
			st.End()
		}
	}
	a.Header.RecorderState = wire.RecorderNone
	for i := range uint64(2) {
		st := a.Stream(0, uint32(i), 0, "t")
		for k := range uint64(5000) {
			st.Write(number(k))
		}
		st.Leave()
	}
	a.Close()
	main, err := os.ReadFile(a.Path)
	if err != nil {
		tb.Fatal(err)
	}
	extra, err = os.ReadFile(a.Spill)
	if err != nil {
		tb.Fatal(err)
	}
	return main, extra
}

// use reads all there is in a spool, whatever it says, and fails only if that takes too long.
func use(t testing.TB, path string, live bool) {
	began := time.Now()
	s, err := Open(path, "", live)
	if err != nil {
		return
	}
	defer s.Close()
	r := s.Reader()
	defer r.Close()
	tb := s.Tables()
	defer tb.Close()
	c := newCollect(t)
	c.lenient = true
	for range 3 {
		_, _ = r.Processes(0)
		_ = r.Round(c, nil)
	}
	_ = r.Round(c, func(uint32) bool { return true })
	_, _ = s.Meta()
	_, _ = tb.Modules()
	for id := range uint32(30) {
		tb.Path(nil, id, nil, 0)
		tb.Node(id)
		tb.PC(id)
	}
	s.Counters()
	_ = s.Counts(func(*Count) {})
	s.Sampling()
	r.Partial(0)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("reading a spool took %v", took)
	}
	for uid, b := range c.data {
		if len(b) > 1<<26 {
			t.Errorf("stream %d has %d bytes, the files are far smaller", uid, len(b))
		}
	}
}

// patch changes 8 bytes at a time: 3 bytes say where, one which file and how, 4 what.
func patch(main, extra, patches []byte) {
	for ; len(patches) >= 8; patches = patches[8:] {
		at := int(patches[0]) | int(patches[1])<<8 | int(patches[2])<<16
		f := main
		if patches[3]&1 != 0 {
			f = extra
		} else if patches[3]&2 != 0 {
			at %= wire.HeaderSize // where it hurts most
		}
		v := uint64(binary.LittleEndian.Uint32(patches[4:]))
		if patches[3]&4 != 0 {
			v = ^v
		}
		at = at % (len(f) - 8) &^ 3
		if patches[3]&8 != 0 {
			binary.LittleEndian.PutUint64(f[at:], v)
		} else {
			binary.LittleEndian.PutUint32(f[at:], uint32(v))
		}
	}
}

func FuzzSpool(f *testing.F) {
	main, extra := baseSpool(f)
	f.Add([]byte{})
	f.Add([]byte{0, 0, 0, 2, 1, 2, 3, 4, 100, 0, 0, 10, 0, 1, 0, 0})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, patches []byte) {
		m, e := append([]byte(nil), main...), append([]byte(nil), extra...)
		patch(m, e, patches)
		tryFiles(t, dir, m, e)
	})
}

func tryFiles(t testing.TB, dir string, main, extra []byte) {
	path := filepath.Join(dir, "p.spool")
	for _, live := range []bool{false, true} {
		if err := os.WriteFile(path, main, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "p.spill"), extra, 0o600); err != nil {
			t.Fatal(err)
		}
		use(t, path, live)
	}
}

// TestHostile reads spools of which random parts, mostly those that others depend on, were changed or cut off.
func TestHostile(t *testing.T) {
	main, extra := baseSpool(t)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 9))
	n := 100
	if testing.Short() {
		n = 30
	}
	for range n {
		m, e := append([]byte(nil), main...), append([]byte(nil), extra...)
		p := make([]byte, 8*(1+r.IntN(6)))
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		for i := 4; i < len(p); i += 8 {
			if r.IntN(2) == 0 { // small numbers are more likely to be believed
				copy(p[i+1:i+4], []byte{0, 0, 0})
			}
		}
		patch(m, e, p)
		if r.IntN(4) == 0 {
			m = m[:r.IntN(len(m))]
		}
		if r.IntN(4) == 0 {
			e = e[:r.IntN(len(e))]
		}
		tryFiles(t, dir, m, e)
	}
}

// TestChanging overwrites a spool at random while it is read.
func TestChanging(t *testing.T) {
	main, extra := baseSpool(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "p.spool")
	_ = os.WriteFile(filepath.Join(dir, "p.spill"), extra, 0o600)
	if err := os.WriteFile(path, main, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		r := rand.New(rand.NewPCG(2, 9))
		for {
			select {
			case <-stop:
				return
			default:
			}
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], r.Uint32()>>r.IntN(32))
			at := int64(r.IntN(len(main)) &^ 3)
			if r.IntN(2) == 0 {
				at = wire.HeaderSize + at%(200<<10)&^3
			}
			_, _ = f.WriteAt(b[:], at)
			if r.IntN(50) == 0 {
				_, _ = f.WriteAt(main, 0)
			}
		}
	}()
	for range 20 {
		use(t, path, true)
	}
	close(stop)
	<-done
}
