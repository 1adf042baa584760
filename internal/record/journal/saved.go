package journal

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heaptap/heaptap/internal/ledger"
	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/spill"
)

// Saved is a state as a recorder has left it.
type Saved struct {
	StateInfo
	Events   uint64 // of the recording that count
	Streams  map[uint64]StreamState
	Born     map[uint64]uint64 // addresses by number of the allocation, of blocks that have perhaps ended since
	Finished bool
	Backings []ledger.Backing // what served pools

	next []ledger.Backing // the same at the next checkpoint
}

var errState = errors.New("no state of a recording")

// readState reads a state up to its last whole entry.
func readState(folder *private.Folder, name string) (*Saved, error) {
	b, err := folder.Read(name)
	if err != nil {
		return nil, err
	}
	s := &Saved{Streams: map[uint64]StreamState{}, Born: map[uint64]uint64{}}
	some := false
	for len(b) >= stateHeader+1 {
		le := binary.LittleEndian
		n := uint64(le.Uint32(b[4:]))
		if le.Uint32(b) != stateMagic || n == 0 || n > uint64(len(b)-stateHeader) {
			break
		}
		p := b[stateHeader : stateHeader+n]
		if crc32.ChecksumIEEE(p) != le.Uint32(b[8:]) {
			break
		}
		b = b[stateHeader+n:]
		switch p[0] {
		case stateFirst:
			if err := json.Unmarshal(p[1:], &s.StateInfo); err != nil {
				return nil, errState
			}
			some = true
		case stateSnapshot:
			clear(s.Born)
			s.checkpoint(p[1:])
		case stateCheckpoint:
			s.checkpoint(p[1:])
		case stateBackings:
			s.next = decodeBackings(p[1:])
		case stateFinished:
			s.Finished = true
		}
	}
	if !some {
		return nil, errState
	}
	return s, nil
}

func (s *Saved) checkpoint(b []byte) {
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b = nil
			return 0
		}
		b = b[n:]
		return v
	}
	s.Events = next()
	s.Backings = s.next
	for n := next(); n > 0 && len(b) > 0; n-- {
		v := StreamState{Origin: Origin{
			UID: next(), Start: next(), TID: uint32(next()), Proc: uint32(next()), Level: uint32(next()),
			At: Position{next(), uint32(next())},
		}}
		if th := next(); th > 0 {
			v.Known, v.Thread = true, uint32(th-1)
		}
		s.Streams[v.UID] = v
	}
	last := uint64(0)
	for len(b) > 0 {
		d := next()
		if d == 0 {
			last = 0
			continue
		}
		last += d
		s.Born[last-1] = next()
	}
}

func decodeBackings(b []byte) (list []ledger.Backing) {
	for len(b) > 0 {
		var v [5]uint64
		for i := range v {
			x, n := binary.Uvarint(b)
			if n <= 0 {
				return list
			}
			v[i], b = x, b[n:]
		}
		list = append(list, ledger.Backing{
			Pool: v[0], Addr: v[1], Size: v[2], Ref: v[3], Parent: uint8(v[4] >> 1), Over: v[4]&1 != 0,
		})
	}
	return list
}
func pendingFiles(runDir, dir string) []string {
	list, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "."+escapeGlob(filepath.Base(runDir))+"-*"+pendingSuffix))
	return list
}

// escapeGlob makes a name a pattern that only it matches.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// ReadStates reads what a recorder has left of a spool's processes, by slot.
func ReadStates(spoolPath string) map[uint32]*Saved {
	all := map[uint32]*Saved{}
	folder, err := private.BesideFolder(spoolPath)
	if err != nil {
		return all
	}
	defer folder.Close()
	names, _ := folder.Names()
	prefix := strings.TrimSuffix(filepath.Base(spoolPath), ".spool") + "."
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, stateSuffix) {
			continue
		}
		if s, err := readState(folder, name); err == nil {
			all[s.Slot] = s
		}
	}
	return all
}

// SavedPiece is a piece of the journal.
type SavedPiece struct {
	Origin
	Data []byte
}

// ReadPieces reads what the journal of a run has of a spool, by stream and in order. Spill files of another version of
// heaptap are an error: what they hold is not to be lost.
func ReadPieces(runDir string, spillDirs []string, inode uint64) (map[uint64][]SavedPiece, error) {
	all := map[uint64][]SavedPiece{}
	add := func(o Origin, data []byte) {
		if o.Spool == inode {
			all[o.UID] = append(all[o.UID], SavedPiece{o, data})
		}
	}
	folder, err := private.BesideFolder(filepath.Join(runDir, fileName))
	if err != nil {
		return nil, fmt.Errorf("cannot open the run's folder: %w", err)
	}
	defer folder.Close()
	if b, err := folder.Read(fileName); err == nil {
		for ; len(b) >= blockSize; b = b[blockSize:] {
			if binary.LittleEndian.Uint64(b) != blockMagic {
				continue
			}
			used := min(binary.LittleEndian.Uint64(b[8:]), blockSize)
			for at := uint64(blockStart); at+pieceHeader <= used; {
				o, n, _, ok := decodeOrigin(b[at:])
				at += pieceHeader
				if !ok || at+uint64(n) > used {
					break
				}
				add(o, b[at:at+uint64(n)])
				at += uint64(n+7) &^ 7
			}
		}
	}
	for _, dir := range spillDirs {
		for _, path := range pendingFiles(runDir, dir) {
			b, err := readOwned(path, folder.Owner())
			if err != nil {
				continue
			}
			for {
				o, n, packed, ok := decodeOrigin(b)
				if !ok || packed > len(b)-pieceHeader {
					break
				}
				if v := packedForm(b); v != spill.Version && o.Spool == inode {
					return nil, fmt.Errorf("%s holds events in form %d, and this heaptap knows form %d: "+
						"recover them with the version of heaptap that recorded them", path, v, spill.Version)
				}
				if data, err := spill.Decode(nil, b[pieceHeader:pieceHeader+packed], n); err == nil {
					add(o, data)
				}
				b = b[pieceHeader+packed:]
			}
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b SavedPiece) int {
			return cmp.Or(cmp.Compare(a.At.Seq, b.At.Seq), cmp.Compare(a.At.Off, b.At.Off))
		})
	}
	return all, nil
}

func readOwned(path string, owner uint32) ([]byte, error) {
	f, err := private.OpenOwned(path, owner)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Clean removes a spool and all that a recorder has left of it, in the run's folder and in folders for spill files.
// What the run's spools have in common is removed with the last one.
func Clean(spoolPath string, spillDirs []string) {
	base := strings.TrimSuffix(filepath.Base(spoolPath), ".spool")
	list, _ := filepath.Glob(escapeGlob(strings.TrimSuffix(spoolPath, ".spool")) + ".*")
	for _, dir := range spillDirs {
		list = append(list, filepath.Join(dir, base+".spill"))
	}
	for _, f := range list {
		_ = os.Remove(f)
	}
	runDir := filepath.Dir(spoolPath)
	if more, _ := filepath.Glob(filepath.Join(escapeGlob(runDir), "*.spool")); len(more) > 0 {
		return
	}
	for _, dir := range spillDirs {
		for _, f := range pendingFiles(runDir, dir) {
			_ = os.Remove(f)
		}
	}
	_ = os.Remove(filepath.Join(runDir, fileName))
}
