package question

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/heaptap/heaptap/internal/query"
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

// Either returns a pattern that matches what one of several does; "" matches nothing.
func Either(patterns ...string) (either string) {
	for _, p := range patterns {
		if either != "" && p != "" {
			either = "(?:" + either + ")|"
		}
		either += p
	}
	return either
}

// compile reads the patterns of a filter, of which there may be a few.
func compile(name string, texts []string) (list []*regexp.Regexp, err error) {
	for _, text := range texts {
		if text == "" {
			continue
		}
		r, err := Pattern(text)
		if err != nil {
			return nil, wrong(name, err)
		}
		list = append(list, r)
	}
	if len(list) > query.MaxPatterns {
		return nil, wrong(name, fmt.Errorf("it is given %d times; the most is %d", len(list), query.MaxPatterns))
	}
	return list, nil
}
