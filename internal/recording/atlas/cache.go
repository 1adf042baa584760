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
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/heaptap/heaptap/internal/cachedir"
	"github.com/heaptap/heaptap/internal/recording"
)

const (
	magic      = "heaptap atlas 1\n"
	headLength = len(magic) + sha256.Size + 4

	// DefaultLimit bounds the files of all atlases together.
	DefaultLimit = 256 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var kind = cachedir.Kind{What: "atlases", Suffix: ".atlas"}

// Cache keeps atlases in the files of a folder, so that each recording's is made once. A nil Cache keeps nothing. A
// file that is damaged is replaced.
type Cache struct{ dir *cachedir.Folder }

// Dir returns the folder for atlases below the user's cache folder, "" if the user has none.
func Dir() string { return cachedir.Path("atlases") }

// OpenCache opens the cache in a folder, and makes the folder if it is missing. It fails if the folder belongs to
// another user or others may write to it.
func OpenCache(dir string) (*Cache, error) { return cacheIn(kind.Open(dir)) }

// OpenExistingCache opens a cache as OpenCache does, but does not create one: the error then wraps fs.ErrNotExist.
func OpenExistingCache(dir string) (*Cache, error) { return cacheIn(kind.OpenExisting(dir)) }

func cacheIn(dir *cachedir.Folder, err error) (*Cache, error) {
	if err != nil {
		return nil, err
	}
	return &Cache{dir}, nil
}

// Close closes the folder.
func (c *Cache) Close() {
	if c != nil {
		c.dir.Close()
	}
}

// Usage counts the atlases and the bytes of their files.
func (c *Cache) Usage() (cachedir.Usage, error) { return c.dir.Usage() }

// Prune removes what was not used for the longest time until the files take no more than limit bytes.
func (c *Cache) Prune(limit int64) error { return c.dir.Prune(limit, "") }

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
	if a, ok := c.find(r, id); ok {
		return a, nil
	}
	raw, a, err := build(ctx, r, o)
	if err == nil {
		c.keep(id, raw)
	}
	return a, err
}

// find returns the atlas that is kept of a recording.
func (c *Cache) find(r *recording.Reader, id []byte) (*Atlas, bool) {
	f, err := c.dir.OpenFile(fileOf(id), os.O_RDONLY)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxContents+1<<20))
	if err != nil {
		return nil, false
	}
	raw, err := decode(b, id)
	if err != nil {
		return nil, false
	}
	a, err := unpack(raw, r.Nodes())
	if err != nil {
		return nil, false
	}
	_, last := r.Cuts()
	return a, a.moments[len(a.moments)-1].Cut == last
}

// keep keeps the contents of a file, unless the disk is full, for example: they can be made again.
func (c *Cache) keep(id, raw []byte) {
	if c.dir.Replace(fileOf(id), encode(id, raw)) == nil {
		_ = c.dir.Prune(DefaultLimit, fileOf(id))
	}
}

func fileOf(id []byte) string { return hex.EncodeToString(id) + kind.Suffix }

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
func encode(id, raw []byte) []byte {
	c := codecs()
	b := append([]byte(magic), id...)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(raw)))
	b = c.EncodeAll(raw, b)
	binary.LittleEndian.PutUint32(b[headLength-4:], crc32.Checksum(b[headLength:], castagnoli))
	return b
}

var errFile = errors.New("not the atlas of this recording")

// decode returns the contents of a file.
func decode(b, id []byte) ([]byte, error) {
	if len(b) < headLength+4 || string(b[:len(magic)]) != magic || !bytes.Equal(b[len(magic):headLength-4], id) ||
		binary.LittleEndian.Uint32(b[headLength-4:]) != crc32.Checksum(b[headLength:], castagnoli) {
		return nil, errFile
	}
	length := binary.LittleEndian.Uint32(b[headLength:])
	if length > maxContents {
		return nil, errFile
	}
	raw, err := codecs().DecodeAll(b[headLength+4:], nil)
	if err == nil && uint64(len(raw)) != uint64(length) {
		err = errFile
	}
	return raw, err
}

// codec packs and unpacks contents.
type codec struct {
	*zstd.Encoder
	*zstd.Decoder
}

var codecs = sync.OnceValue(func() codec {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // an option is wrong
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxContents), zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return codec{e, d}
})
