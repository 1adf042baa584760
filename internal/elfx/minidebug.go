package elfx

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// Limits on .gnu_debugdata: its compressed size, its dictionary (xz -9 has one of 64 MiB) and its decompressed size.
// Real ones are a few megabytes at most.
const (
	maxMini       = 64 << 20
	maxDictionary = 64 << 20
)

// MiniDebug opens the small ELF file that some distributions put into .gnu_debugdata, compressed with xz: a symbol
// table of the functions that .dynsym lacks. Without such a section the result is nil without an error.
func (f *File) MiniDebug() (mini *File, err error) {
	const name = ".gnu_debugdata"
	list := f.find(name)
	if len(list) == 0 || compressed(list[0]) {
		return nil, nil
	}
	s := list[0]
	err = Contain(func() error {
		raw := f.slice(s.Offset, s.FileSize)
		if raw == nil || len(raw) > maxMini {
			return fmt.Errorf("%d bytes: it is truncated or too large", s.FileSize)
		}
		image, err := unxz(raw)
		if err == nil {
			mini, err = parse(f.Path+" "+name, image)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: section %s: %w", f.Path, name, err)
	}
	return mini, nil
}

// unxz decompresses an xz stream of one block, which is what xz writes by default. The block's checksum is not checked.
// (The package xz would allocate a dictionary as large as the block's header claims, up to 4 GiB.)
func unxz(b []byte) ([]byte, error) {
	const header = 12 // magic, flags, checksum
	if len(b) < header+8 || !bytes.HasPrefix(b, []byte("\xfd7zXZ\x00")) {
		return nil, errors.New("not an xz stream")
	}
	b = b[header:]
	size := 4 * (int(b[0]) + 1)
	if b[0] == 0 || size > len(b) {
		return nil, errors.New("an xz stream without a block")
	}
	fields, flags := b[2:size], b[1]
	for _, flag := range []byte{0x40, 0x80} { // compressed and uncompressed size: numbers of 7 bits per byte
		for flags&flag != 0 && len(fields) > 0 {
			last := fields[0] < 0x80
			if fields = fields[1:]; last {
				break
			}
		}
	}
	if flags&0x3f != 0 || len(fields) < 3 || fields[0] != 0x21 || fields[1] != 1 {
		return nil, errors.New("an xz stream with filters other than LZMA2")
	}
	dictionary, err := lzma.DecodeDictCap(fields[2])
	if err != nil || dictionary > maxDictionary {
		return nil, fmt.Errorf("an xz stream with a dictionary of %d bytes (%v)", dictionary, err)
	}
	r, err := lzma.Reader2Config{DictCap: int(max(dictionary, lzma.MinDictCap))}.NewReader2(bytes.NewReader(b[size:]))
	if err != nil {
		return nil, err
	}
	image, err := io.ReadAll(io.LimitReader(r, maxMini+1))
	if err == nil && len(image) > maxMini {
		err = fmt.Errorf("it decompresses to more than %d bytes", maxMini)
	}
	return image, err
}
