package elfx

import (
	"debug/elf"
)

const (
	ntGNUBuildID = 3
	maxBuildID   = 64 // bytes; the usual ones have 8, 16 or 20
)

// BuildID returns the GNU build id, or nil if the file has none.
func (f *File) BuildID() []byte {
	var id []byte
	err := Contain(func() error {
		for _, s := range f.elf.Sections {
			if s.Type == elf.SHT_NOTE && id == nil {
				id = f.buildID(f.slice(s.Offset, s.FileSize))
			}
		}
		for _, p := range f.elf.Progs { // a file may have no section headers
			if p.Type == elf.PT_NOTE && id == nil {
				id = f.buildID(f.slice(p.Off, p.Filesz))
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return id
}

// buildID walks ELF notes: name size, description size, type, then both padded to four bytes.
func (f *File) buildID(b []byte) []byte {
	for len(b) >= 12 {
		name, desc := uint64(f.elf.ByteOrder.Uint32(b)), uint64(f.elf.ByteOrder.Uint32(b[4:]))
		kind := f.elf.ByteOrder.Uint32(b[8:])
		b = b[12:]
		padded := (name + 3) &^ 3
		if padded > uint64(len(b)) || desc > uint64(len(b))-padded {
			return nil
		}
		d := b[padded : padded+desc]
		if kind == ntGNUBuildID && name == 4 && string(b[:4]) == "GNU\x00" && desc > 0 && desc <= maxBuildID {
			return append([]byte(nil), d...)
		}
		b = b[min(padded+(desc+3)&^3, uint64(len(b))):]
	}
	return nil
}

// DebugLink returns the name and checksum of the separate debug file, from .gnu_debuglink.
func (f *File) DebugLink() (name string, crc uint32, ok bool) {
	b := f.small(".gnu_debuglink")
	n := cString(b)
	if n == "" {
		return "", 0, false
	}
	at := (len(n) + 1 + 3) &^ 3
	if at+4 > len(b) {
		return "", 0, false
	}
	return n, f.elf.ByteOrder.Uint32(b[at:]), true
}

// AltLink returns the name and build id of the file to which dwz moved shared debug information (.gnu_debugaltlink).
func (f *File) AltLink() (name string, buildID []byte, ok bool) {
	b := f.small(".gnu_debugaltlink")
	n := cString(b)
	if n == "" || len(b) == len(n)+1 || len(b)-len(n)-1 > maxBuildID {
		return "", nil, false
	}
	return n, append([]byte(nil), b[len(n)+1:]...), true
}

// small returns a copy of a section of about a page or less, or nil.
func (f *File) small(name string) []byte {
	var b []byte
	err := Contain(func() error {
		raw, err := f.Section(name)
		if err == nil && len(raw) <= 8192 {
			b = append([]byte(nil), raw...)
		}
		return err
	})
	if err != nil {
		return nil
	}
	return b
}

// cString returns the NUL-terminated string at the beginning of b, "" if there is none.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}
