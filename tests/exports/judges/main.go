// Judges reads what heaptap export writes with the libraries of those who defined the formats, and prints what it has
// understood as JSON. It is a module of its own, so that heaptap does not depend on them.
//
//	judges otlp FILE...           OpenTelemetry's profiles, by the collector's pdata
//	judges otlp-v0.2 FILE...      the same, by release 0.2 of the protocol's own Go module
//	judges parquet FILE...        Parquet
//	judges pprof FILE...          pprof, by the rules of Parca and Pyroscope, which are rebuilt here
//	judges pprof-legacy FILE...   profiles of all forms that google/pprof reads, older ones as well
//	judges serve FOLDER           servers of gRPC and HTTP, which put what they get into the folder
//	judges schema SCHEMA FILE...  JSON that has to be as a JSON Schema says; nothing is printed
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := judge(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judge(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: judges FORMAT FILE")
	}
	switch args[0] {
	case "schema":
		return validate(args[1], args[2:])
	case "serve":
		return serve(args[1])
	}
	read := map[string]func(b []byte) (any, error){"otlp": readOTLP, "otlp-v0.2": readOld, "parquet": readParquet,
		"pprof": readPprof, "pprof-legacy": readLegacy}[args[0]]
	if read == nil {
		return fmt.Errorf("%s: no such judge", args[0])
	}
	out := json.NewEncoder(os.Stdout)
	for _, name := range args[1:] {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		answer, err := read(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := out.Encode(answer); err != nil {
			return err
		}
	}
	return nil
}
