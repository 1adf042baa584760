package main

import (
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func validate(schema string, names []string) error {
	s, err := jsonschema.NewCompiler().Compile(schema)
	if err != nil {
		return err
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		v, err := jsonschema.UnmarshalJSON(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := s.Validate(v); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
