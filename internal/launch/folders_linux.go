package launch

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heaptap/heaptap/internal/run"
	"golang.org/x/sys/unix"
)

// enoughShared is the free memory that /dev/shm must have for a run's spools.
const enoughShared = 256 << 20

// doorSuffix comes behind the path of a run's folder in that of its door (internal/record).
const doorSuffix = "-door"

// makeRunFolder makes the folder for the run's spools, which nobody else may enter. Root's programs may become others
// and then execute programs: so root's run has a door, a folder with a socket at which the recorder admits those.
func makeRunFolder(outputDir string) (string, error) {
	for try := 0; ; try++ {
		dir, err := makePrivateFolder(outputDir)
		if err != nil || os.Geteuid() != 0 {
			return dir, err
		}
		if err = os.Mkdir(dir+doorSuffix, 0o711); err == nil {
			err = os.Chmod(dir+doorSuffix, 0o711)
		}
		if err == nil {
			return dir, nil
		}
		discardRunFolder(dir)
		if !errors.Is(err, os.ErrExist) || try == 10 { // the name can be seen, and taken, before us
			return "", fmt.Errorf("cannot make a folder for the run: %w", err)
		}
	}
}

// discardRunFolder removes the folder with all that is in it, and its door.
func discardRunFolder(dir string) {
	os.RemoveAll(dir)
	var st unix.Stat_t
	if unix.Lstat(dir+doorSuffix, &st) == nil && st.Uid == uint32(os.Geteuid()) {
		os.RemoveAll(dir + doorSuffix)
	}
}

// makePrivateFolder makes it in memory if there is room, else beside the output.
func makePrivateFolder(outputDir string) (string, error) {
	secret := make([]byte, 12)
	_, _ = rand.Read(secret) // never fails
	pattern := fmt.Sprintf("heaptap-%d-%x-", os.Getuid(), secret)
	var fs unix.Statfs_t
	if unix.Statfs("/dev/shm", &fs) == nil && fs.Type == unix.TMPFS_MAGIC && int64(fs.Bavail)*fs.Bsize >= enoughShared {
		if dir, err := os.MkdirTemp("/dev/shm", pattern); err == nil {
			return dir, nil
		}
	}
	dir, err := os.MkdirTemp(outputDir, "."+pattern)
	if err != nil {
		return "", fmt.Errorf("cannot make a folder for the run: %w", err)
	}
	return dir, nil
}

// removeRunFolder removes the folder if no spool is left in it, and returns the spools.
func removeRunFolder(dir string) (spools []string) {
	spools, _ = filepath.Glob(filepath.Join(dir, "*.spool"))
	if len(spools) == 0 {
		discardRunFolder(dir)
	}
	return spools
}

// asides are why an agent may step aside: the ending of the mark that it leaves in the run's folder, and the same for
// the user.
var asides = []struct{ mark, text string }{
	{".aside", "limits or a full disk left the agent too little memory, file size or address space"},
	{".valgrind", "under valgrind, with a tool that replaces malloc"},
	{".seccomp", "they were started under a seccomp filter that heaptap does not know, or that forbids what it needs"},
}

// filtersFiles are what agents have left for images that inherit seccomp filters.
const filtersFiles = "*.filters"

// marks returns the marks in a run's folder with that ending.
func marks(dir, ending string) []string {
	list, _ := filepath.Glob(filepath.Join(dir, "*"+ending))
	return list
}

// countMarks counts the marks in a run's folder, by their endings.
func countMarks(dir string) map[string]int {
	count := map[string]int{}
	for _, a := range asides {
		if n := len(marks(dir, a.mark)); n > 0 {
			count[a.mark] = n
		}
	}
	return count
}

// Output is where a run goes: a template whose folder exists and can be written to.
type Output struct {
	Template string // absolute
	Dir      string
	// Programs says that each program is recorded to a file of its own, because the template names programs.
	Programs bool
}

// DefaultName is the name of a run when none is given: command and process id.
const DefaultName = "%n.%p.htap"

// ResolveOutput checks -o before anything is started: an existing folder that is not a run, or a name that ends in a
// slash, takes runs under the default name; anything else is a name in which %p stands for the process id, %n for the
// program's name, %r for its rank in an MPI job, %h for the host and %% for a percent sign. A name with %p or %n is of
// programs, any other is of the run: rank and host are the same for all programs of a run. A missing folder is made.
func ResolveOutput(output string) (Output, error) {
	programs := namesPrograms(output)
	if output == "" {
		output = DefaultName
	} else if st, err := os.Stat(output); strings.HasSuffix(output, "/") || err == nil && st.IsDir() &&
		!run.Is(output) {
		output = filepath.Join(output, DefaultName)
	}
	if err := checkTemplate(filepath.Base(output)); err != nil {
		return Output{}, err
	}
	abs, err := filepath.Abs(output)
	if err != nil {
		return Output{}, fmt.Errorf("cannot find the absolute path of %s: %w", output, err)
	}
	dir := filepath.Dir(abs)
	if strings.Contains(dir, "%") {
		if err := checkTemplate(dir); err != nil {
			return Output{}, err
		}
	}
	st, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return Output{}, fmt.Errorf("-o %s: the folder %s cannot be made: %w; name another with -o", output, dir,
				reason(err))
		}
		st, err = os.Stat(dir)
	}
	switch {
	case err != nil:
		return Output{}, fmt.Errorf("-o %s: %w", output, reason(err))
	case !st.IsDir():
		return Output{}, fmt.Errorf("-o %s: %s is not a folder; name another with -o", output, dir)
	}
	// Only an attempt tells: permissions, read-only file systems, quotas, full disks.
	probe, err := os.CreateTemp(dir, ".heaptap-")
	if err != nil {
		return Output{}, fmt.Errorf("cannot write recordings to %s: %w; name another folder with -o", dir, reason(err))
	}
	_, err = probe.Write(make([]byte, 4096))
	probe.Close()
	os.Remove(probe.Name())
	if err != nil {
		return Output{}, fmt.Errorf("cannot write recordings to %s: %w; name another folder with -o", dir, reason(err))
	}
	if !strings.Contains(abs, "%") {
		if err := run.CheckReplaceable(abs); err != nil {
			return Output{}, fmt.Errorf("-o %w", err)
		}
	}
	return Output{Template: abs, Dir: dir, Programs: programs}, nil
}

// namesPrograms reports whether a template has a placeholder that differs between the programs of a run.
func namesPrograms(template string) bool {
	for i := 0; i+1 < len(template); i++ {
		if template[i] == '%' {
			i++
			if template[i] == 'p' || template[i] == 'n' {
				return true
			}
		}
	}
	return false
}

func checkTemplate(name string) error {
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			continue
		}
		i++
		if i == len(name) || !strings.ContainsRune("pnrh%", rune(name[i])) {
			return fmt.Errorf("-o: unknown placeholder in %q; %%p is the process id, %%n the program's name, %%r "+
				"the rank, %%h the host, %%%% a percent sign", name)
		}
	}
	return nil
}
