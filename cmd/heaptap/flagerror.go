package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heaptap/heaptap/internal/spelling"
)

// flagError words an error of package pflag for users: which flag, which value, what is expected.
func flagError(cmd *cobra.Command, err error) error {
	command := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") + ": "
	if cmd == cmd.Root() {
		command = ""
	}
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown):
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			return usagef("%sunknown flag -%s", command, unknown.GetSpecifiedName())
		}
		flag := unknown.GetSpecifiedName()
		if near := spelling.Nearest(flag, flagNames(cmd)); near != "" {
			return usagef("%sunknown flag --%s; did you mean --%s?", command, flag, near)
		}
		return usagef("%sunknown flag --%s", command, flag)
	case errors.As(err, &missing):
		kind, _ := pflag.UnquoteUsage(missing.GetFlag())
		return usagef("%s--%s needs a value: --%[2]s %s", command, missing.GetFlag().Name, kind)
	case errors.As(err, &invalid):
		return usagef("%s--%s: %w", command, invalid.GetFlag().Name,
			valueError(invalid.GetFlag(), invalid.GetValue(), err))
	case errors.As(err, &syntax):
		return usagef("%s%q is not a flag", command, syntax.GetSpecifiedFlag())
	}
	return usagef("%s%w", command, err)
}

// valueError says why a flag cannot have a value. err is what its Set returned.
func valueError(flag *pflag.Flag, value string, err error) error {
	var quotes *csv.ParseError
	switch {
	case errors.As(err, &quotes):
		return fmt.Errorf("%q: a quotation mark is not closed, or not at the beginning of a value", value)
	case flag.Value.Type() == "int" && errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is too large", value)
	case flag.Value.Type() == "int":
		return fmt.Errorf("%q is not a whole number", value)
	case flag.Value.Type() == "duration":
		return fmt.Errorf("%q is not a duration (for example 90s, 10m or 24h)", value)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = errors.Unwrap(invalid)
	}
	var number *strconv.NumError // from a switch
	if errors.As(err, &number) {
		return fmt.Errorf("%q is neither true nor false", value)
	}
	return err
}

// flagNames are the names of a command's flags.
func flagNames(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return names
}
