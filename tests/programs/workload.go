package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Workload is a program that is run again and again, below different tools.
type Workload struct {
	Name, What string
	Args       []string
	Env        []string
	Stdin      string
}

// PythonLoop is PythonJSON of n, in a file in dir.
func PythonLoop(dir string, n int) (Workload, error) {
	script := filepath.Join(dir, "loop.py")
	return Workload{Name: "python3", What: "JSON parse and dump loop, PYTHONMALLOC=malloc", Args: []string{"/usr/bin/python3", script},
		Env: []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}}, os.WriteFile(script, []byte(PythonJSON(n)), 0o666)
}

// Command is the program, perhaps below another one.
func (w *Workload) Command(under ...string) *exec.Cmd {
	args := append(under[:len(under):len(under)], w.Args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), w.Env...)
	cmd.Stdin = strings.NewReader(w.Stdin)
	return cmd
}
