package elfx

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Decompressed sections of up to inMemory bytes are on the heap. Larger ones are in a mapped temporary file without a
// name, or, if no such file can be created, on the heap up to maxInMemory. No section may claim more than maxSection.
const (
	inMemory    = 16 << 20
	maxInMemory = 256 << 20
	maxSection  = 8 << 30
	// zlib cannot compress to less than 1/1032: a section that claims more is forged. zstd can, so its limit is
	// generous, and the actual contents decide.
	maxRatioZlib = 1032
	maxRatioZstd = 20000
)

// sectionCache holds decompressed sections, by name.
type sectionCache struct {
	mu       sync.Mutex
	contents map[string]content
}

type content struct {
	data   []byte
	err    error
	mapped bool
}

func (c *sectionCache) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, s := range c.contents {
		if s.mapped {
			err = errors.Join(err, unix.Munmap(s.data))
		}
	}
	c.contents = nil
	return err
}

func (c *sectionCache) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.contents {
		if s.mapped {
			unix.Madvise(s.data, unix.MADV_DONTNEED)
		}
	}
}

// HasSection reports whether the file has a section of that name with contents. For a .debug_ name its old compressed
// form .zdebug_ counts, too.
func (f *File) HasSection(name string) bool { return len(f.find(name)) > 0 }

func (f *File) find(name string) (list []*elf.Section) {
	old := ""
	if rest, ok := strings.CutPrefix(name, ".debug_"); ok {
		old = ".zdebug_" + rest
	}
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL && (s.Name == name || s.Name == old && old != "") {
			list = append(list, s)
		}
	}
	return list
}

// Section returns a section's contents, decompressed, or nil without an error if there is no such section. Several
// sections of one name, such as split type units, are joined. The bytes are valid until Close and must not be changed.
func (f *File) Section(name string) ([]byte, error) {
	list := f.find(name)
	if len(list) == 0 {
		return nil, nil
	}
	total := 0
	for _, s := range list {
		raw := f.slice(s.Offset, s.FileSize)
		if raw == nil {
			return nil, fmt.Errorf("%s: section %s lies beyond the end of the file; it is truncated", f.Path, s.Name)
		}
		if len(list) == 1 && !compressed(s) {
			return raw, nil
		}
		if total += len(raw); total > len(f.data) {
			return nil, fmt.Errorf("%s: sections %s overlap", f.Path, s.Name)
		}
	}
	f.sections.mu.Lock()
	defer f.sections.mu.Unlock()
	if c, ok := f.sections.contents[name]; ok {
		return c.data, c.err
	}
	var c content
	c.err = Contain(func() (err error) {
		if len(list) == 1 {
			c.data, c.mapped, err = f.decompress(list[0], f.slice(list[0].Offset, list[0].FileSize))
		} else {
			c.data, err = f.join(list)
		}
		return err
	})
	if c.err != nil {
		c.err = fmt.Errorf("%s: decompressing section %s: %w", f.Path, list[0].Name, c.err)
	}
	if f.sections.contents == nil {
		f.sections.contents = map[string]content{}
	}
	f.sections.contents[name] = c
	return c.data, c.err
}

func compressed(s *elf.Section) bool {
	return s.Flags&elf.SHF_COMPRESSED != 0 || strings.HasPrefix(s.Name, ".zdebug_")
}

// join returns the contents of several sections as one.
func (f *File) join(list []*elf.Section) (all []byte, err error) {
	for _, s := range list {
		part, mapped := f.slice(s.Offset, s.FileSize), false
		if compressed(s) {
			if part, mapped, err = f.decompress(s, part); err != nil {
				return nil, err
			}
		}
		if len(all)+len(part) <= maxInMemory {
			all = append(all, part...)
		} else {
			err = fmt.Errorf("%d sections of this name have more than %d bytes together", len(list), maxInMemory)
		}
		if mapped {
			err = errors.Join(err, unix.Munmap(part))
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (f *File) decompress(s *elf.Section, raw []byte) ([]byte, bool, error) {
	var size uint64
	kind := elf.COMPRESS_ZLIB
	switch {
	case s.Flags&elf.SHF_COMPRESSED == 0: // .zdebug_
		if len(raw) < 12 || string(raw[:4]) != "ZLIB" {
			return nil, false, errors.New("it has no ZLIB header")
		}
		size, raw = binary.BigEndian.Uint64(raw[4:]), raw[12:]
	case f.Class == elf.ELFCLASS64 && len(raw) >= 24:
		kind, size = elf.CompressionType(f.elf.ByteOrder.Uint32(raw)), f.elf.ByteOrder.Uint64(raw[8:])
		raw = raw[24:]
	case f.Class == elf.ELFCLASS32 && len(raw) >= 12:
		kind, size = elf.CompressionType(f.elf.ByteOrder.Uint32(raw)), uint64(f.elf.ByteOrder.Uint32(raw[4:]))
		raw = raw[12:]
	default:
		return nil, false, errors.New("its header is truncated")
	}
	var r io.Reader
	ratio := uint64(maxRatioZlib)
	switch kind {
	case elf.COMPRESS_ZLIB:
		z, err := zlib.NewReader(bytes.NewReader(raw))
		if err != nil {
			return nil, false, err
		}
		r = z
	case elf.COMPRESS_ZSTD:
		ratio = maxRatioZstd
		z, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(128<<20), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, false, err
		}
		defer z.Close()
		r = z
	default:
		return nil, false, fmt.Errorf("unknown compression type %d", kind)
	}
	if size > maxSection || size > uint64(len(raw))*ratio+4096 {
		return nil, false, fmt.Errorf("its %d bytes claim to decompress to %d", len(raw), size)
	}
	if size == 0 {
		return []byte{}, false, nil
	}
	var t *os.File
	var err error
	if size > inMemory {
		if t, err = os.CreateTemp("", "heaptap-section-"); err == nil {
			defer t.Close()
			err = os.Remove(t.Name())
		}
	}
	if size <= inMemory || err != nil && size <= maxInMemory {
		data, err := toMemory(r, size, uint64(len(raw)))
		return data, false, err
	}
	if err != nil {
		return nil, false, fmt.Errorf("for its %d bytes a temporary file is needed (TMPDIR sets where): %w", size, err)
	}
	data, err := toTemporary(t, r, size)
	return data, err == nil, err
}

// usualRatio is the usual upper limit of compression: a section that claims no more gets its memory at once.
const usualRatio = 8

// toMemory reads size bytes of r, which decompresses packed bytes. The memory grows with the actual contents, since a
// forged section may claim any size.
func toMemory(r io.Reader, size, packed uint64) ([]byte, error) {
	data := make([]byte, min(size, packed*usualRatio+4096))
	for done := 0; ; {
		n, err := io.ReadFull(r, data[done:])
		if done += n; err != nil {
			return nil, tooShort(err, done, size)
		}
		if uint64(done) == size {
			return data, nil
		}
		bigger := make([]byte, min(size, 2*uint64(done)))
		copy(bigger, data)
		data = bigger
	}
}

// toTemporary writes size bytes of r to a temporary file without a name and maps it: the kernel can write the contents
// out and drop them, and they are not this process's memory.
func toTemporary(t *os.File, r io.Reader, size uint64) ([]byte, error) {
	if n, err := io.CopyN(t, r, int64(size)); err != nil {
		return nil, tooShort(err, int(n), size)
	}
	return unix.Mmap(int(t.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
}

func tooShort(err error, n int, size uint64) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends after %d of %d bytes", n, size)
	}
	return err
}
