package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Workload is a program that is run again and again, under different tools.
type Workload struct {
	Name, What string
	Args       []string
	Env        []string
	Stdin      string
}

// PythonLoop returns the workload of PythonJSON(n), in a file in dir.
func PythonLoop(dir string, n int) (Workload, error) {
	script := filepath.Join(dir, "loop.py")
	return Workload{Name: "python3", What: "JSON parse and dump loop, PYTHONMALLOC=malloc",
		Args: []string{"/usr/bin/python3", script},
		Env:  []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}}, os.WriteFile(script, []byte(PythonJSON(n)), 0o666)
}

// Command returns the command of the program; under, if given, is the command that runs it.
func (w *Workload) Command(under ...string) *exec.Cmd {
	args := append(under[:len(under):len(under)], w.Args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), w.Env...)
	cmd.Stdin = strings.NewReader(w.Stdin)
	return cmd
}
