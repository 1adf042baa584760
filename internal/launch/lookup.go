package launch

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// LookUp finds the file that a command name stands for, as execvp(3) would: a name with a slash is a path, any other is
// looked for in the folders of PATH. The errors are StatusErrors.
func LookUp(name, path string) (string, error) {
	if name == "" {
		return "", statusf(StatusNotFound, "the name of the command is empty")
	}
	if strings.Contains(name, "/") || name == "." || name == ".." {
		if err := executable(name); err != nil {
			return "", explain(name, err)
		}
		return name, nil
	}
	var denied error
	denied, deniedAt := nil, ""
	for _, dir := range filepath.SplitList(path) {
		if dir == "" {
			dir = "."
		}
		file := filepath.Join(dir, name)
		if !strings.Contains(file, "/") {
			file = "./" + file
		}
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) && denied == nil {
			denied, deniedAt = err, file
		}
	}
	if denied != nil {
		return "", explain(deniedAt, denied)
	}
	hint := "is it installed?"
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		hint = "there is a file of that name here: try ./" + name
	}
	return "", statusf(StatusNotFound, "%s: command not found in PATH; %s", name, hint)
}

var errIsFolder = errors.New("is a folder")

// executable returns why a file cannot be executed; nil: it seems that it can.
func executable(file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return errIsFolder
	}
	return unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
}

// explain turns the reason why a file cannot be run into an error with advice and a status.
func explain(file string, err error) error {
	switch {
	case errors.Is(err, errIsFolder):
		return statusf(StatusNotExecutable, "%s: is a folder, not a program; name the program in it", file)
	case isErrno(err, syscall.ENOTDIR):
		return statusf(StatusNotFound, "%s: not found: a part of the path is not a folder", file)
	case errors.Is(err, fs.ErrNotExist):
		return statusf(StatusNotFound, "%s: no such file", file)
	case errors.Is(err, fs.ErrPermission):
		if st, e := os.Stat(file); e == nil && st.Mode()&0o111 == 0 {
			return statusf(StatusNotExecutable, "%s: not executable; chmod +x %s, or name the interpreter before it",
				file, file)
		}
		return statusf(StatusNotExecutable, "%s: permission denied; may you execute it, and does its file system "+
			"allow it (noexec)?", file)
	default:
		return statusf(StatusNotExecutable, "%s: cannot be executed: %v", file, reason(err))
	}
}

// explainExec does the same for an error of execve on a file that LookUp found.
func explainExec(file string, err error) error {
	switch {
	case isErrno(err, syscall.ENOENT):
		if interp := interpreterOf(file); interp != "" {
			return statusf(StatusNotExecutable, "%s: its interpreter %s does not exist; install it or change the "+
				"first line",
				file, interp)
		}
		return statusf(StatusNotFound, "%s: no such file, or its loader is missing (a program for another system?)",
			file)
	case isErrno(err, syscall.ENOEXEC):
		return statusf(StatusNotExecutable, "%s: not a program that this machine can run (another architecture, or "+
			"damaged)", file)
	case isErrno(err, syscall.E2BIG):
		return statusf(StatusNotExecutable, "%s: the arguments and the environment are too long for the kernel", file)
	case isErrno(err, syscall.ETXTBSY):
		return statusf(StatusNotExecutable, "%s: is open for writing; try again when it has been written", file)
	}
	return explain(file, err)
}

func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// interpreterOf returns the program that a script's first line names, or "".
func interpreterOf(file string) string {
	line, ok := bytes.CutPrefix(head(file, 256), []byte("#!"))
	if !ok {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// isText reports whether a file of an unknown format may be a shell script, as shells decide it: it begins without a
// NUL.
func isText(file string) bool {
	return bytes.IndexByte(head(file, 256), 0) < 0
}

func head(file string, n int) []byte {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	b := make([]byte, n)
	n, _ = f.Read(b)
	return b[:max(n, 0)]
}
