package elfx

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNotELF is the error, in a chain, for a file that is not an ELF file.
var ErrNotELF = errors.New("not an ELF file")

// File is an open ELF file. Several goroutines may call its methods, except for Close.
type File struct {
	Path string
	Type elf.Type
	// Machine is the processor architecture of the code.
	Machine  elf.Machine
	Class    elf.Class
	elf      *elf.File
	data     []byte // the whole file
	modified time.Time
	mapped   bool
	sections sectionCache
}

// Open maps a file and reads its headers.
func Open(path string) (*File, error) {
	fd, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // non-blocking: path may be a FIFO
	if err != nil {
		return nil, err
	}
	defer fd.Close()
	st, err := fd.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: not a regular file", path, ErrNotELF)
	}
	if st.Size() < 16 {
		return nil, fmt.Errorf("%s: %w: only %d bytes long", path, ErrNotELF, st.Size())
	}
	if int64(int(st.Size())) != st.Size() {
		return nil, fmt.Errorf("%s: too large to map (%d bytes)", path, st.Size())
	}
	data, err := unix.Mmap(int(fd.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: mapping it: %w", path, err)
	}
	f, err := parse(path, data)
	if err != nil {
		unix.Munmap(data)
		return nil, err
	}
	f.mapped, f.modified = true, st.ModTime()
	return f, nil
}

// Stamp returns the file's size and modification time. Two files of one build id with the same stamp have the same
// contents, unless somebody forges them.
func (f *File) Stamp() (size int64, modified time.Time) { return int64(len(f.data)), f.modified }

// FromBytes reads an ELF image in memory, such as the vdso. The name is for messages.
func FromBytes(name string, image []byte) (*File, error) {
	return parse(name, image)
}

func parse(path string, data []byte) (*File, error) {
	f := &File{Path: path, data: data}
	err := Contain(func() error {
		if len(data) < 16 || string(data[:4]) != elf.ELFMAG {
			return ErrNotELF
		}
		e, err := elf.NewFile(&reader{data: data})
		if err != nil {
			return fmt.Errorf("damaged ELF file: %w", err)
		}
		f.elf, f.Type, f.Machine, f.Class = e, e.Type, e.Machine, e.Class
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Close unmaps the file. Bytes that Section returned must not be used any more.
func (f *File) Close() error {
	err := f.sections.close()
	if f.mapped {
		f.mapped = false
		err = errors.Join(err, unix.Munmap(f.data))
	}
	f.data = nil
	return err
}

// Release hints to the kernel that the pages read so far are not needed soon. The file stays readable; it only stops
// counting as resident memory of this process. This is a hint, so there is no error.
func (f *File) Release() {
	if f.mapped {
		unix.Madvise(f.data, unix.MADV_DONTNEED)
	}
	f.sections.release()
}

// Little reports whether the file is little-endian, the only byte order whose symbols and debug information are read.
func (f *File) Little() bool { return f.elf.Data == elf.ELFDATA2LSB }

// Span is a range of addresses, end excluded.
type Span struct{ Start, End uint64 }

// Code returns the address ranges of the executable segments. A separate debug file has them, too.
func (f *File) Code() []Span {
	var spans []Span
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Vaddr+p.Memsz > p.Vaddr {
			spans = append(spans, Span{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	return spans
}

// Contain runs f and returns its error. It turns a panic in f, or a fault because a mapped file has shrunk, into an
// error. It covers this goroutine only.
func Contain(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("damaged file: %v", r)
		}
	}()
	return f()
}

// reader is an io.ReaderAt of the image.
type reader struct{ data []byte }

func (r *reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(len(r.data)) {
		return 0, io.EOF
	}
	n := copy(p, r.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// slice returns bytes of the image, or nil if the image does not hold all of them.
func (f *File) slice(off, size uint64) []byte {
	n := uint64(len(f.data))
	if off > n || size > n-off {
		return nil
	}
	return f.data[off : off+size : off+size]
}
