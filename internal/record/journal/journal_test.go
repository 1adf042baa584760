package journal_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heaptap/heaptap/internal/private"
	"github.com/heaptap/heaptap/internal/record/journal"
	"github.com/heaptap/heaptap/internal/wire"
)

// TestJournalOfAnotherVersion packs pieces into a spill file that outlives the recorder: they come back whole, from the
// piece and from the file; and if another version of heaptap has packed them, that is an error that names the file.
func TestJournalOfAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	folder, err := private.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	j, err := journal.Create(folder)
	if err != nil {
		t.Fatal(err)
	}
	s := journal.NewStore(dir, 1, 1<<30, j)
	const all = 1<<20 - 16 - 64 // the memory: a block without its header, and the piece's
	if p, _, err := s.Keep(s.Buffer(all), &journal.Origin{Spool: 4, UID: 1}); err != nil || p.OnDisk() {
		t.Fatal(p, err)
	}
	var pieces []journal.Piece
	var want [][]byte
	for i := range uint64(20) {
		var b []byte
		for n := range 1000 + 30*i {
			b = wire.Append(b, wire.Record{Kind: wire.KMalloc, Addr: i<<30 + n<<4, Size: uint32(n), Stack: uint32(i),
				Time: i<<40 + n})
			b = wire.Append(b, wire.Record{Kind: wire.KFree, Addr: i<<30 + n<<4, Time: i<<40 + n + 9})
		}
		p, lost, err := s.Keep(append(s.Buffer(len(b))[:0], b...),
			&journal.Origin{Spool: 5, UID: 7, At: journal.Position{Seq: i, Off: 64}})
		if err != nil || lost != 0 || !p.OnDisk() {
			t.Fatal(p, lost, err)
		}
		pieces, want = append(pieces, p), append(want, b)
	}
	var buf []byte
	for i := range pieces {
		if buf, err = pieces[i].Load(buf); err != nil || !bytes.Equal(buf, want[i]) {
			t.Fatalf("piece %d is loaded as something else: %v", i, err)
		}
	}
	saved, err := journal.ReadPieces(dir, []string{dir}, 5)
	if err != nil || len(saved[7]) != len(want) {
		t.Fatalf("%d pieces of %d: %v", len(saved[7]), len(want), err)
	}
	for i, p := range saved[7] {
		if !bytes.Equal(p.Data, want[i]) {
			t.Errorf("piece %d is read back as something else", i)
		}
	}
	list, _ := filepath.Glob(filepath.Join(dir, "*.pending"))
	path := list[0]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint32(b[44:], 1)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.ReadPieces(dir, []string{dir}, 5); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("events of another version: %v", err)
	}
	if _, err := journal.ReadPieces(dir, []string{dir}, 6); err != nil {
		t.Errorf("events of another version, of another spool: %v", err)
	}
}
