package outfile

import "os"

// TemporaryDir makes a directory, and remove removes it. So does a signal before it ends the program: Ctrl-C leaves
// nothing behind.
func TemporaryDir(pattern string) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", pattern); err != nil {
		return "", nil, err
	}
	stop := onSignal(func() {
		for try := 0; try < 100 && os.RemoveAll(dir) != nil; try++ { // it fails while files are still made in it
		}
	})
	return dir, func() {
		stop()
		os.RemoveAll(dir)
	}, nil
}
