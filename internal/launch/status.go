package launch

import "fmt"

// Exit statuses of run itself, as env(1), nohup(1) and timeout(1) have them.
const (
	StatusFailed        = 125 // called wrongly, or heaptap failed; the target did not run
	StatusNotExecutable = 126 // the command was found but cannot be executed
	StatusNotFound      = 127 // there is no such command
)

// StatusError is an error that ends run with a status of its own, before the target ran.
type StatusError struct {
	Status int
	Err    error
}

func (e *StatusError) Error() string { return e.Err.Error() }

func (e *StatusError) Unwrap() error { return e.Err }

func statusf(status int, format string, args ...any) error {
	return &StatusError{Status: status, Err: fmt.Errorf(format, args...)}
}
