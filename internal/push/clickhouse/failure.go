package clickhouse

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/heaptap/heaptap/internal/lazy"
	"github.com/heaptap/heaptap/internal/push/call"
)

// Codes of the server's errors.
const (
	unknownDatabase = 81
	readOnly        = 164
	unknownUser     = 192
	wrongPassword   = 193
	noRights        = 497
	notAllowed      = 516 // the user or the password, without saying which
	tooManyParts    = 252
	memoryLimit     = 241
	tooManyQueries  = 202
)

// Failure is the error of a statement that failed.
type Failure struct {
	Server string
	Code   int
	Text   string
}

func (f *Failure) Error() string {
	switch f.Code {
	case wrongPassword, unknownUser, notAllowed:
		return fmt.Sprintf("%s: wrong user or password (set them in the URL, or in CLICKHOUSE_USER and "+
			"CLICKHOUSE_PASSWORD): %s", f.Server, f.Text)
	case readOnly, noRights:
		return fmt.Sprintf("%s: the user lacks the permission: %s", f.Server, f.Text)
	}
	return fmt.Sprintf("%s: the server says: %s", f.Server, f.Text)
}

// Retryable reports whether the same statement may succeed later.
func (f *Failure) Retryable() bool {
	switch f.Code {
	case tooManyParts, memoryLimit, tooManyQueries:
		return true
	}
	return false
}

// Servers' error texts, old and new: "Code: 60, e.displayText() = DB::Exception: Table ..., e.what() = DB::Exception"
// and "Code: 60. DB::Exception: Table .... (UNKNOWN_TABLE) (version 24.3.1)".
var (
	failureHead = lazy.Regexp(`Code: (\d+)[.,] (?:e\.displayText\(\) = )?(?:DB::Exception: )?`)
	failureTail = lazy.Regexp(`(?:, e\.what\(\) = .*| \(version [^)]*\).*)$`)
)

// parseFailure turns a call's error that has a server's error text into a *Failure. It returns other errors as they
// are.
func parseFailure(err error) error {
	var e *call.Error
	if !errors.As(err, &e) {
		return err
	}
	m := failureHead().FindStringSubmatchIndex(e.Text)
	if m == nil {
		return err
	}
	code, _ := strconv.Atoi(e.Text[m[2]:m[3]])
	return &Failure{e.Server, code, failureTail().ReplaceAllString(e.Text[m[1]:], "")}
}

func isFailure(err error, code int) bool {
	var f *Failure
	return errors.As(err, &f) && f.Code == code
}
