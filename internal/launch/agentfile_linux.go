package launch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/heaptap/heaptap/agent"
)

const (
	agentName         = "libheaptap.so"
	agentFolderPrefix = "heaptap-agent-"
	none32Name        = "none32.so"
	platformToken     = "$PLATFORM"
)

// What $PLATFORM stands for: glibc's loader takes it from the kernel, or (before 2.37) from the processor's make.
// The token itself is there for loaders that do not know tokens (musl).
var (
	platforms64 = []string{"x86_64", "haswell", "xeon_phi", platformToken}
	platforms32 = []string{"i686", "i586", "i486", "i386"}
)

// AgentLibrary is the agent, unpacked into a folder that is kept for the next run:
//
//	heaptap-agent-HASH/libheaptap.so
//	heaptap-agent-HASH/none32.so
//	heaptap-agent-HASH/x86_64/libheaptap.so -> ../libheaptap.so      (and haswell, xeon_phi, $PLATFORM)
//	heaptap-agent-HASH/i686/libheaptap.so   -> ../none32.so          (and i586, i486, i386)
//
// Preload is the path for LD_PRELOAD; the loader puts its platform in, so that a 32-bit program finds an empty library
// and does not complain.
type AgentLibrary struct {
	Path    string // of the 64-bit library itself
	Preload string
}

// UnpackAgent makes sure that the agent lies in a folder from which programs may map code. Where it was installed with
// this program, or beside it, sandboxes are most likely to show it; else it tries the user's cache, /var/tmp, /tmp,
// /dev/shm and then the given folders. Any number of runs, of any version, may do it at the same time.
func UnpackAgent(more ...string) (AgentLibrary, error) {
	for _, base := range installedBases() {
		folder := filepath.Join(base, ownFolder())
		if checkFolder(folder, agent.Library, agent.None32) == nil &&
			checkExec(filepath.Join(folder, agentName)) == nil {
			return libraryIn(folder), nil
		}
	}
	var failed []error
	for _, base := range agentBases(more) {
		folder, err := unpackInto(base, ownFolder(), agent.Library, agent.None32)
		if err == nil {
			return libraryIn(folder), nil
		}
		failed = append(failed, err)
	}
	return AgentLibrary{}, fmt.Errorf("found no folder for the agent's library: %w; set XDG_CACHE_HOME to one where "+
		"code may be executed",
		errors.Join(failed...))
}

func libraryIn(folder string) AgentLibrary {
	lib := AgentLibrary{Path: filepath.Join(folder, agentName)}
	lib.Preload = lib.Path
	if loaderKnowsPlatform() {
		lib.Preload = filepath.Join(folder, platformToken, agentName)
	}
	return lib
}

// InstallAgent unpacks the agent into a folder for good: PREFIX/lib/heaptap if this program is PREFIX/bin/heaptap, or
// its own folder.
func InstallAgent(base string) error {
	_, err := unpackInto(base, ownFolder(), agent.Library, agent.None32)
	return err
}

// installedBases are the folders in which InstallAgent may have put the agent.
func installedBases() []string {
	exe, err := os.Executable()
	if err == nil {
		exe, err = filepath.EvalSymlinks(exe)
	}
	if dir := filepath.Dir(exe); err == nil && preloadable(dir) {
		return []string{filepath.Join(filepath.Dir(dir), "lib", "heaptap"), dir}
	}
	return nil
}

// preloadable says whether LD_PRELOAD can have a path: it splits at spaces and colons, and a dollar sign begins a
// token.
func preloadable(path string) bool {
	return filepath.IsAbs(path) && !strings.ContainsAny(path, " :$\n\t")
}

// agentFolder is the name of the folder of these libraries.
func agentFolder(library, none32 []byte) string {
	sum := sha256.New()
	sum.Write(library)
	sum.Write(none32)
	return agentFolderPrefix + hex.EncodeToString(sum.Sum(nil)[:8])
}

// ownFolder is the name of the folder of the libraries that this program has. Many folders are tried, and hashing takes
// as long as all else that a run does before it starts its target.
var ownFolder = sync.OnceValue(func() string { return agentFolder(agent.Library, agent.None32) })

// agentBases lists the folders to try. More sandboxes hide /tmp than /var/tmp.
func agentBases(more []string) []string {
	var bases []string
	if cache, err := os.UserCacheDir(); err == nil {
		bases = append(bases, filepath.Join(cache, "heaptap"))
	}
	bases = append(bases, "/var/tmp", "/tmp", "/dev/shm")
	bases = append(bases, more...)
	var open, closed []string
	for _, b := range bases {
		switch {
		case !preloadable(b):
		case !safe(b) && os.Geteuid() == 0:
			// Whoever owns a folder on the way could exchange the library that root's programs load: under sudo, the
			// caller's cache.
		case !safe(b) || !reachable(b):
			closed = append(closed, b)
		default:
			open = append(open, b)
		}
	}
	return append(open, closed...)
}

// reachable reports whether any user may enter the folder (as far as it exists): a target that drops its privileges,
// and the programs that it then starts, must find the library, or their loader complains.
func reachable(folder string) bool {
	for ; folder != "/"; folder = filepath.Dir(folder) {
		if st, err := os.Stat(folder); err == nil && st.Mode().Perm()&0o001 == 0 {
			return false
		}
	}
	return true
}

// safe says whether nobody but root and us can exchange what lies in the folder: not in it, and not on the way there,
// as far as it exists.
func safe(folder string) bool {
	for there := folder; there != "/"; there = filepath.Dir(there) {
		if real, err := filepath.EvalSymlinks(there); err == nil {
			if real != there && !safe(real) {
				return false
			}
			break
		}
	}
	for ; folder != "/"; folder = filepath.Dir(folder) {
		var st unix.Stat_t
		if unix.Lstat(folder, &st) != nil {
			continue
		}
		if st.Uid != 0 && st.Uid != uint32(os.Geteuid()) {
			return false
		}
		if link := st.Mode&unix.S_IFMT == unix.S_IFLNK; !link && st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 {
			return false
		}
	}
	return true
}

// loaderKnowsPlatform: glibc cannot expand the token when the kernel (or what plays its part) tells no platform.
func loaderKnowsPlatform() bool {
	const atPlatform = 15
	return auxiliary(atPlatform) != 0
}

// auxiliary returns a value that the kernel has given to this process; 0 if there is none.
func auxiliary(tag uint64) uint64 {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0
	}
	for ; len(b) >= 16; b = b[16:] {
		if le64(b) == tag {
			return le64(b[8:])
		}
	}
	return 0
}

func le64(b []byte) uint64 {
	var v uint64
	for i := 7; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}

// unpackInto unpacks the libraries into a folder of that name, unless they are there, and returns the folder.
func unpackInto(base, name string, library, none32 []byte) (string, error) {
	if _, err := os.Stat(base); err != nil {
		// Only the cache folder may be missing; others can read it if the home folder lets them in.
		if err := os.MkdirAll(base, 0o755); err != nil {
			return "", err
		}
	}
	if shared(base) {
		// In a folder that everybody can write to, only what is ours is to be trusted.
		name += fmt.Sprintf("-%d", os.Getuid())
	}
	folder := filepath.Join(base, name)
	if err := checkFolder(folder, library, none32); err == nil {
		return folder, checkExec(filepath.Join(folder, agentName))
	} else if !errors.Is(err, fs.ErrNotExist) {
		// Damaged, or somebody else's: a folder of our own beside it, kept by nobody but this run's processes.
		folder = ""
	}
	temp, err := os.MkdirTemp(base, agentFolderPrefix+"new-")
	if err != nil {
		return "", err
	}
	if err := writeFolder(temp, library, none32); err != nil {
		os.RemoveAll(temp)
		return "", err
	}
	if err := checkExec(filepath.Join(temp, agentName)); err != nil {
		os.RemoveAll(temp)
		return "", err
	}
	if folder == "" {
		return temp, nil
	}
	if err := os.Rename(temp, folder); err != nil {
		if checkFolder(folder, library, none32) != nil {
			return temp, nil
		}
		os.RemoveAll(temp) // another run was faster
	}
	return folder, nil
}

// shared reports whether others may make files in the folder.
func shared(folder string) bool {
	st, err := os.Stat(folder)
	return err == nil && st.Mode().Perm()&0o022 != 0
}

func writeFolder(folder string, library, none32 []byte) error {
	if err := os.Chmod(folder, 0o755); err != nil { // a target that drops its privileges reads it, too
		return err
	}
	if err := writeNew(filepath.Join(folder, agentName), library); err != nil {
		return err
	}
	if err := writeNew(filepath.Join(folder, none32Name), none32); err != nil {
		return err
	}
	for target, platforms := range map[string][]string{agentName: platforms64, none32Name: platforms32} {
		for _, p := range platforms {
			dir := filepath.Join(folder, p)
			if err := os.Mkdir(dir, 0o755); err != nil {
				return err
			}
			if err := os.Chmod(dir, 0o755); err != nil {
				return err
			}
			if err := os.Symlink("../"+target, filepath.Join(dir, agentName)); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o755)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// checkFolder tells whether a folder holds exactly what writeFolder writes and belongs to us or to root.
func checkFolder(folder string, library, none32 []byte) error {
	st, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s: not a folder", folder)
	}
	if err := checkFile(filepath.Join(folder, agentName), library); err != nil {
		return err
	}
	if err := checkFile(filepath.Join(folder, none32Name), none32); err != nil {
		return err
	}
	var own unix.Stat_t
	if err := unix.Stat(folder, &own); err != nil {
		return err
	}
	if own.Uid != 0 && int(own.Uid) != os.Getuid() {
		return fmt.Errorf("%s: belongs to user %d", folder, own.Uid)
	}
	if own.Mode&0o022 != 0 {
		return fmt.Errorf("%s: others may write to it", folder)
	}
	for target, platforms := range map[string][]string{agentName: platforms64, none32Name: platforms32} {
		for _, p := range platforms {
			if to, err := os.Readlink(filepath.Join(folder, p, agentName)); err != nil || to != "../"+target {
				return fmt.Errorf("%s: incomplete", folder)
			}
		}
	}
	return nil
}

func checkFile(path string, content []byte) error {
	st, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%s: incomplete", filepath.Dir(path)) // not ErrNotExist: the folder is there
	}
	if !st.Mode().IsRegular() || st.Size() != int64(len(content)) || st.Mode().Perm()&0o444 != 0o444 {
		return fmt.Errorf("%s: not as heaptap wrote it", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// A piece at a time: a buffer for all of it would take a hundred new pages at each start.
	piece := make([]byte, 16<<10)
	for len(content) > 0 {
		n, err := f.Read(piece)
		switch {
		case n == 0 && err == io.EOF, !bytes.Equal(piece[:n], content[:min(n, len(content))]):
			return fmt.Errorf("%s: not as heaptap wrote it", path)
		case n == 0 && err != nil:
			return err
		}
		content = content[n:]
	}
	return nil
}

// checkExec tells whether code of the file may be mapped: not so on a file system mounted noexec.
func checkExec(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("%s: code there may not be executed: %w", path, err)
	}
	return unix.Munmap(b)
}

// WriteAgent writes the agent's library to a file, atomically.
func WriteAgent(path string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	_, err = temp.Write(agent.Library)
	if err == nil {
		err = temp.Chmod(0o755)
	}
	if e := temp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
