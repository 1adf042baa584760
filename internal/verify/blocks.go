package verify

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// From the specification: lengths of the file's header, of a block's header and of the trailer, and types of blocks.
const (
	fileHeader  = 32
	blockHeader = 24
	trailer     = 16
	maxPayload  = 64 << 20

	typeProcess = 1
	typeEvents  = 6
	typeTally   = 9
	typeEnding  = 10
	typeIndex   = 11
	typeSummary = 12
	typeFolded  = 13
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// file is the recording as a sequence of blocks.
type file struct {
	f       io.ReaderAt
	size    int64
	check   *Check
	blocks  []block
	whole   int64 // end of the last block before the first incomplete one
	missing []string
	folds   map[[2]uint64]uint64 // by type and level: the number below which blocks are folded
	folded  int                  // number of folded blocks
	tally   bool
	ending  *struct{ Events uint64 }
}

type block struct {
	kind     uint16
	length   uint32
	checksum uint32
	offset   int64
}

var errCut = errors.New("the file ends within it")

// walk goes through all blocks. An error means that the file cannot be read.
func (f *file) walk() error {
	f.findFolded()
	f.whole = min(fileHeader, f.size)
	indexed := false
	for f.whole < f.size {
		b, err := f.block(f.whole, uint32(len(f.blocks)))
		if errors.Is(err, errCut) {
			f.missing = append(f.missing, fmt.Sprintf("everything from offset %d on: %v (block %d)", f.whole, err,
				len(f.blocks)))
			break
		}
		if err != nil {
			f.check.problem("block %d at offset %d: %v", len(f.blocks), f.whole, err)
			f.missing = append(f.missing, fmt.Sprintf("everything from offset %d on: it was not checked", f.whole))
			break
		}
		f.check.require(!indexed, "block %d at offset %d follows the index", len(f.blocks), f.whole)
		f.check.require(b.kind == typeProcess || len(f.blocks) > 0,
			"block %d at offset %d is of type %d: the first block must describe the process",
			len(f.blocks), f.whole, b.kind)
		if err := f.look(b); err != nil {
			f.check.problem("block %d at offset %d: %v", len(f.blocks), f.whole, err)
		}
		indexed = b.kind == typeIndex
		f.blocks = append(f.blocks, b)
		f.whole = b.offset + blockHeader + int64(b.length)
	}
	f.check.What = fmt.Sprintf("%d blocks and their checksums", len(f.blocks)-f.folded)
	if f.folded > 0 {
		f.check.What += fmt.Sprintf(", the heads of %d that were folded", f.folded)
	}
	if indexed {
		f.check.What += ", the index"
	} else if f.whole == f.size {
		f.missing = append(f.missing, "the index")
	}
	return nil
}

// header reads and checks the header at an offset.
func (f *file) header(at int64, number uint32) (block, error) {
	var h [blockHeader]byte
	if at+blockHeader > f.size {
		return block{}, errCut
	}
	if _, err := f.f.ReadAt(h[:], at); err != nil {
		return block{}, err
	}
	le := binary.LittleEndian
	b := block{kind: le.Uint16(h[4:]), length: le.Uint32(h[8:]), checksum: le.Uint32(h[16:]), offset: at}
	switch n := le.Uint32(h[12:]); {
	case string(h[:4]) != "HBLK" || crc32.Checksum(h[:20], castagnoli) != le.Uint32(h[20:]):
		return b, errors.New("its header is damaged")
	case n != number:
		return b, fmt.Errorf("its number is %d", n)
	case b.length > maxPayload:
		return b, fmt.Errorf("it is longer than any block (%d bytes)", b.length)
	case at+blockHeader+int64(b.length) > f.size:
		return b, errCut
	}
	return b, nil
}

// block checks the block whose header is at an offset.
func (f *file) block(at int64, number uint32) (block, error) {
	b, err := f.header(at, number)
	if err != nil {
		return b, err
	}
	if f.isFolded(b, number) {
		f.folded++
		return b, nil
	}
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, f.payload(b)); err != nil {
		return b, err
	}
	if sum.Sum32() != b.checksum {
		return b, errors.New("its checksum is wrong")
	}
	return b, nil
}

func (f *file) payload(b block) io.Reader {
	return io.NewSectionReader(f.f, b.offset+blockHeader, int64(b.length))
}

// findFolded collects which blocks are folded. Blocks after them say so.
func (f *file) findFolded() {
	f.folds = make(map[[2]uint64]uint64)
	for at, number := int64(fileHeader), uint32(0); at < f.size; number++ {
		b, err := f.header(at, number)
		if err != nil {
			return // walk reports it
		}
		if b.kind == typeFolded {
			p, err := io.ReadAll(f.payload(b))
			if head, _, bad := parseColumns(p); err == nil && bad == nil &&
				crc32.Checksum(p, castagnoli) == b.checksum && len(head) == 5 {
				key := [2]uint64{head[0], head[1]}
				f.check.require(head[2] <= uint64(number),
					"block %d says that blocks up to %d are folded, but those come after it", number, head[2])
				f.folds[key] = max(f.folds[key], head[2])
			}
		}
		at = b.offset + blockHeader + int64(b.length)
	}
}

// isFolded reports whether a block's payload was discarded, except for its head.
func (f *file) isFolded(b block, number uint32) bool {
	level := uint64(0)
	if b.kind == typeSummary {
		var start [2 * binary.MaxVarintLen64]byte
		n, _ := io.ReadFull(f.payload(b), start[:])
		_, size := binary.Uvarint(start[:n]) // the head's length; its first number is the level
		level, _ = binary.Uvarint(start[max(size, 0):n])
	}
	return uint64(number) < f.folds[[2]uint64{uint64(b.kind), level}]
}

// look takes from a block what the other checks need.
func (f *file) look(b block) error {
	switch b.kind {
	case typeTally:
		f.tally = true // at the end, or before blocks are folded
	case typeEnding:
		return json.NewDecoder(f.payload(b)).Decode(&f.ending)
	case typeIndex:
		p, err := io.ReadAll(f.payload(b))
		if err != nil {
			return err
		}
		return f.index(b, p)
	}
	return nil
}

// index compares the index with the blocks before it.
func (f *file) index(b block, p []byte) error {
	if len(p) < trailer {
		return errors.New("the index is too short")
	}
	end := p[len(p)-trailer:]
	if !bytes.Equal(end[8:], []byte("HTAPEND\n")) || binary.LittleEndian.Uint64(end) != uint64(b.offset) {
		return errors.New("the end of the file does not say where the index begins")
	}
	head, columns, err := parseColumns(p[:len(p)-trailer])
	if err != nil {
		return fmt.Errorf("the index: %w", err)
	}
	if len(head) != 1 || head[0] != uint64(len(f.blocks)) || len(columns[3]) != 4*len(f.blocks) {
		return fmt.Errorf("the index does not list the %d blocks before it", len(f.blocks))
	}
	types, lengths := bytes.NewReader(columns[1]), bytes.NewReader(columns[2])
	for i, b := range f.blocks {
		kind, err1 := binary.ReadUvarint(types)
		length, err2 := binary.ReadUvarint(lengths)
		sum := binary.LittleEndian.Uint32(columns[3][4*i:])
		if err1 != nil || err2 != nil || kind != uint64(b.kind) || length != uint64(b.length) || sum != b.checksum {
			return fmt.Errorf("the index differs from block %d", i)
		}
	}
	return nil
}
