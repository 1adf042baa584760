package namecache

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/internal/cachedir"
	"github.com/heaptap/heaptap/internal/event"
)

const (
	magic  = "heaptap names 1\n"
	suffix = ".names"

	// maxFile bounds the names of one build: a larger file is started again. DefaultLimit bounds all of them together.
	maxFile      = 32 << 20
	DefaultLimit = 256 << 20
)

var kind = cachedir.Kind{What: "names", Suffix: suffix}

// Cache is a folder of names. A nil Cache knows nothing and keeps nothing. Its methods may be called by several
// goroutines, and the folder be used by several processes.
type Cache struct {
	dir   *cachedir.Folder
	limit int64
}

// Key identifies the build that names belong to.
type Key struct {
	BuildID string // in hexadecimal digits
	Source  uint64 // identifies the files that names came from: others may have more
}

func (k Key) file() string { return fmt.Sprintf("%s-%016x%s", k.BuildID, k.Source, suffix) }

// Dir returns the folder for names below the user's cache folder, "" if the user has none.
func Dir() string { return cachedir.Path("names") }

// Open opens the cache in a folder, and makes the folder if it is missing. It fails if the folder belongs to another
// user or others may write to it: anybody could have put names there.
func Open(dir string) (*Cache, error) { return cacheIn(kind.Open(dir)) }

// OpenExisting opens a cache as Open does, but does not create one: the error then wraps fs.ErrNotExist.
func OpenExisting(dir string) (*Cache, error) { return cacheIn(kind.OpenExisting(dir)) }

func cacheIn(dir *cachedir.Folder, err error) (*Cache, error) {
	if err != nil {
		return nil, err
	}
	return &Cache{dir: dir, limit: DefaultLimit}, nil
}

// Close closes the folder.
func (c *Cache) Close() {
	if c != nil {
		c.dir.Close()
	}
}

// Find returns the frames of those addresses that the cache knows; the addresses must be in ascending order. An address
// may be known to have no name: known is true then, and it has no frames.
func (c *Cache) Find(k Key, addrs []uint64) (frames [][]event.Frame, known []bool) {
	frames, known = make([][]event.Frame, len(addrs)), make([]bool, len(addrs))
	if c == nil {
		return frames, known
	}
	b, err := c.read(k.file())
	if err != nil {
		return frames, known
	}
	for {
		contents, rest, sound, ok := nextBatch(b)
		if !ok {
			return frames, known
		}
		if sound {
			find(contents, addrs, func(i int, f []event.Frame) { frames[i], known[i] = f, true })
		}
		b = rest
	}
}

// read returns what follows the head of a file.
func (c *Cache) read(name string) ([]byte, error) {
	f, err := c.dir.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+maxBatch))
	if err != nil || len(b) < len(magic) || string(b[:len(magic)]) != magic {
		return nil, errors.Join(err, errors.New("not a file of names"))
	}
	return b[len(magic):], nil
}

// Add keeps the frames of addresses, which must be in ascending order. It drops them while another process writes to
// the same file, or when the disk is full: they can be looked up again.
func (c *Cache) Add(k Key, addrs []uint64, frames [][]event.Frame) error {
	if c == nil || len(addrs) == 0 {
		return nil
	}
	b := appendBatch(nil, addrs, frames)
	if len(b)-batchHeader > maxBatch {
		half := len(addrs) / 2
		if half == 0 {
			return nil
		}
		return errors.Join(c.Add(k, addrs[:half], frames[:half]), c.Add(k, addrs[half:], frames[half:]))
	}
	if err := c.append(k.file(), b); err != nil {
		return fmt.Errorf("the cache of names: %w", err)
	}
	return c.dir.Prune(c.limit, k.file())
}

func (c *Cache) append(name string, batch []byte) error {
	f, err := c.dir.OpenFile(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	end, err := wholeBatches(f)
	if err != nil {
		return err
	}
	if end+int64(len(batch)) > maxFile {
		end = 0
	}
	if err := f.Truncate(end); err != nil {
		return err
	}
	if end == 0 {
		batch = append([]byte(magic), batch...)
	}
	if _, err = f.WriteAt(batch, end); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return nil
}

// wholeBatches returns where the last whole batch of a file ends; 0 if it is not a file of names.
func wholeBatches(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	head := make([]byte, len(magic))
	if n, err := f.ReadAt(head, 0); n < len(head) || string(head) != magic {
		if err == io.EOF {
			err = nil
		}
		return 0, err
	}
	end := int64(len(magic))
	for {
		var b [4]byte
		if n, _ := f.ReadAt(b[:], end); n < len(b) {
			return end, nil
		}
		size := int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 | int64(b[3])<<24
		if size > maxBatch || size > st.Size()-end-batchHeader {
			return end, nil
		}
		end += batchHeader + size
	}
}

// Usage describes the contents of a cache.
type Usage struct {
	Builds int   // builds of programs and libraries that have names
	Bytes  int64 // of their files
}

// Usage counts what the cache holds.
func (c *Cache) Usage() (Usage, error) {
	u, err := c.dir.Usage()
	return Usage{u.Files, u.Bytes}, err
}

// Prune removes what was not used for the longest time until the cache takes no more than limit bytes.
func (c *Cache) Prune(limit int64) error { return c.dir.Prune(limit, "") }
