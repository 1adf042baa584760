package main

import (
	"os"
	"os/signal"
	"syscall"
)

// temporaryDir makes a directory that a signal takes away, too, before it ends the program: Ctrl-C leaves nothing behind.
func temporaryDir(pattern string) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", pattern); err != nil {
		return "", nil, err
	}
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			for try := 0; try < 100 && os.RemoveAll(dir) != nil; try++ { // it fails while files are still made in it
			}
			signal.Reset(s)
			_ = syscall.Kill(syscall.Getpid(), s.(syscall.Signal))
		case <-done:
		}
	}()
	return dir, func() {
		signal.Stop(signals)
		close(done)
		os.RemoveAll(dir)
	}, nil
}
