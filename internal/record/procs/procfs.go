package procs

import (
	"bytes"
	"fmt"
	"os"
)

// readProc reads one of the kernel's files about a process. When the first thread has ended before the others, that
// thread's files are empty; those of a thread that lives are not.
func readProc(pid int, name string) ([]byte, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if len(b) > 0 || os.IsPermission(err) || os.IsNotExist(err) {
		return b, err
	}
	if dir := LivingThread(pid); dir != "" {
		return os.ReadFile(dir + "/" + name)
	}
	return b, err
}

// LivingThread returns the folder of a thread of the process that lives, other than the first one; "" if there is none.
func LivingThread(pid int) string {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	list, err := os.ReadDir(tasks)
	if err != nil || len(list) < 2 {
		return ""
	}
	for _, t := range list {
		dir := tasks + "/" + t.Name()
		if t.Name() != fmt.Sprint(pid) && lives(dir+"/stat") {
			return dir
		}
	}
	return ""
}

// exists says whether there is a process with that id in which a thread lives.
func exists(pid int) bool {
	return lives(fmt.Sprintf("/proc/%d/stat", pid)) || LivingThread(pid) != ""
}

func lives(stat string) bool {
	b, err := os.ReadFile(stat)
	if err != nil {
		return false
	}
	// The name is in parentheses and may contain any.
	i := bytes.LastIndexByte(b, ')')
	return i > 0 && i+2 < len(b) && b[i+2] != 'Z' && b[i+2] != 'X'
}
