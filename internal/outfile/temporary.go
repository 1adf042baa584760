package outfile

import "os"

// TemporaryDir creates a directory, which remove removes. It is also removed when a signal ends the program, so that
// Ctrl-C leaves nothing behind.
func TemporaryDir(pattern string) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", pattern); err != nil {
		return "", nil, err
	}
	stop := onSignal(func() {
		for try := 0; try < 100 && os.RemoveAll(dir) != nil; try++ { // it fails while files are still created in it
		}
	})
	return dir, func() {
		stop()
		os.RemoveAll(dir)
	}, nil
}
