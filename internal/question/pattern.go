package question

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// Pattern reads a regular expression that a user wrote.
func Pattern(text string) (*regexp.Regexp, error) {
	r, err := regexp.Compile(text)
	var wrong *syntax.Error
	switch {
	case errors.As(err, &wrong):
		return nil, fmt.Errorf("%q is not a regular expression: %s at %q", text, wrong.Code, wrong.Expr)
	case err != nil:
		return nil, fmt.Errorf("%q is not a regular expression", text)
	}
	return r, nil
}

// Either returns a pattern that matches what one of two does; "" matches nothing.
func Either(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return "(?:" + a + ")|" + b
}
