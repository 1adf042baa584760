package atlas

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/cachedir"
	"github.com/heaptap/heaptap/internal/recording"
)

const (
	atlasMagic  = "heaptap atlas 1\n"
	levelsMagic = "heaptap level 1\n"
	headLength  = len(atlasMagic) + sha256.Size + 4

	// DefaultLimit bounds the files of all atlases together.
	DefaultLimit = 256 << 20
	// levelsLimit bounds those of all levels.
	levelsLimit = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var (
	atlasKind  = cachedir.Kind{What: "atlases", Suffix: ".atlas"}
	levelsKind = cachedir.Kind{What: "levels", Suffix: ".levels"}
)

// Cache keeps atlases in the files of a folder, so that each recording's is made once, and the levels of timelines
// beside them. A nil Cache keeps nothing. A file that is damaged is replaced.
type Cache struct{ dir, levels *cachedir.Folder }

// Dir returns the folder for atlases below the user's cache folder, "" if the user has none.
func Dir() string { return cachedir.Path("atlases") }

// OpenCache opens the cache in a folder, and makes the folder if it is missing. It fails if the folder belongs to
// another user or others may write to it.
func OpenCache(dir string) (*Cache, error) { return cacheIn(atlasKind.Open(dir)) }

// OpenExistingCache opens a cache as OpenCache does, but does not create one: the error then wraps fs.ErrNotExist.
func OpenExistingCache(dir string) (*Cache, error) { return cacheIn(atlasKind.OpenExisting(dir)) }

func cacheIn(dir *cachedir.Folder, err error) (*Cache, error) {
	if err != nil {
		return nil, err
	}
	return &Cache{dir, dir.Of(levelsKind)}, nil
}

// Close closes the folder.
func (c *Cache) Close() {
	if c != nil {
		c.dir.Close()
	}
}

// Usage counts the atlases, and the bytes of all files.
func (c *Cache) Usage() (cachedir.Usage, error) {
	u, err := c.dir.Usage()
	if err != nil {
		return u, err
	}
	levels, err := c.levels.Usage()
	u.Bytes += levels.Bytes
	return u, err
}

// Prune removes what was not used for the longest time until the atlases, and the levels, take no more than limit
// bytes.
func (c *Cache) Prune(limit int64) error {
	return errors.Join(c.dir.Prune(limit, ""), c.levels.Prune(limit, ""))
}

// Load returns the atlas of a recording: the one that is kept, or a new one, which is then kept. Those of recordings
// under way are not kept. The error is that of Build. What cannot be kept is no error.
func (c *Cache) Load(ctx context.Context, r *recording.Reader, o Options) (*Atlas, error) {
	if c == nil || r.Live() {
		return Build(ctx, r, o)
	}
	id, err := o.identity(r)
	if err != nil {
		return Build(ctx, r, o)
	}
	if a, ok := c.find(r, id, o.bytes()); ok {
		return a, nil
	}
	raw, a, err := build(ctx, r, o)
	if err == nil {
		c.keep(id, raw)
	}
	return a, err
}

// find returns the atlas that is kept of a recording.
func (c *Cache) find(r *recording.Reader, id []byte, limit int64) (*Atlas, bool) {
	raw, err := read(c.dir, atlasMagic, id)
	if err != nil {
		return nil, false
	}
	a, err := unpack(raw, r.Nodes(), limit)
	if err != nil {
		return nil, false
	}
	_, last := r.Cuts()
	return a, a.moments[len(a.moments)-1].Cut == last
}

// keep keeps the contents of a file, unless the disk is full, for example: they can be made again.
func (c *Cache) keep(id, raw []byte) { write(c.dir, atlasMagic, id, raw, DefaultLimit) }

func write(dir *cachedir.Folder, magic string, id, raw []byte, limit int64) {
	name := fileOf(dir, id)
	if dir.Replace(name, encode(magic, id, raw)) == nil {
		_ = dir.Prune(limit, name)
	}
}

// read returns the contents of a file.
func read(dir *cachedir.Folder, magic string, id []byte) ([]byte, error) {
	f, err := dir.OpenFile(fileOf(dir, id), os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxContents+1<<20))
	if err != nil {
		return nil, err
	}
	return decode(b, magic, id)
}

func fileOf(dir *cachedir.Folder, id []byte) string { return hex.EncodeToString(id) + dir.Suffix }

// identity identifies a recording and the options: by the file's length, its beginning, which says when the process
// started, and its end, where the index has the checksums of the other blocks.
func (o *Options) identity(r *recording.Reader) ([]byte, error) {
	const beginning, end = 4 << 10, 256 << 10
	h := sha256.New()
	for _, n := range [...]int64{r.Size(), o.bytes(), int64(o.Steps)} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	file := r.Content()
	_, err := io.Copy(h, io.NewSectionReader(file, 0, beginning))
	if err == nil {
		_, err = io.Copy(h, io.NewSectionReader(file, max(0, r.Size()-end), end))
	}
	return h.Sum(nil), err
}

// encode makes a file of contents.
func encode(magic string, id, raw []byte) []byte {
	b := append([]byte(magic), id...)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(raw)))
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // an option is wrong
	}
	b = e.EncodeAll(raw, b)
	binary.LittleEndian.PutUint32(b[headLength-4:], crc32.Checksum(b[headLength:], castagnoli))
	return b
}

var errFile = errors.New("not a file about this recording")

// decode returns the contents of a file.
func decode(b []byte, magic string, id []byte) ([]byte, error) {
	if len(b) < headLength+4 || string(b[:len(magic)]) != magic || !bytes.Equal(b[len(magic):headLength-4], id) ||
		binary.LittleEndian.Uint32(b[headLength-4:]) != crc32.Checksum(b[headLength:], castagnoli) {
		return nil, errFile
	}
	length := binary.LittleEndian.Uint32(b[headLength:])
	if length > maxContents {
		return nil, errFile
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxContents), zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err) // an option is wrong
	}
	defer d.Close() // one that is kept for the next file keeps the contents of this one
	raw, err := d.DecodeAll(b[headLength+4:], nil)
	if err == nil && uint64(len(raw)) != uint64(length) {
		err = errFile
	}
	return raw, err
}
