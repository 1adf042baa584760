package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/formats"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/outfile"
	"github.com/heaptap/heaptap/internal/query"
	"github.com/heaptap/heaptap/internal/recording"
)

func newExportCommand() *cobra.Command {
	e := &exporter{flag: "format", done: "exported"}
	var list, asJSON bool
	cmd := &cobra.Command{
		Use:   "export -f FORMAT [flags] [RUN...]",
		Short: "Write a recording in another tool's format",
		Long: wrapHelp("Export writes recordings in the formats of other tools: "+
			strings.Join(export.Names(formats.All), ", ")+".") + `
--list says what each format keeps and loses; docs/formats.md has the details.

Without -o, the output goes to stdout if that is a pipe or a file, else to NAME.EXT in the working
directory, named after the recording. Each of several recordings gets a file of its own: NAME.EXT in
the working directory, or in the folder of -o. A file appears when it is complete; an interrupted
export leaves nothing behind.

--from, --to, --at and the filters select what counts ("heaptap help filters"). --metric and --by
select what is written of it, where the format leaves a choice. With --scrub, names are replaced by
pseudonyms ("heaptap help scrub"), and filters match these.`,
		Example: `  heaptap export -f pprof -o server.pb.gz server.4711.htap
  heaptap export -f folded --metric peak server.4711.htap | flamegraph.pl > peak.svg
  heaptap export -f svg --by thread -o threads.svg server.4711.htap
  heaptap export --list`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case list && len(args) > 0:
				return usagef("export: --list takes no recording")
			case list:
				return nil
			case e.name == "":
				return usagef("export: -f FORMAT is needed; known are %s",
					strings.Join(export.Names(formats.All), ", "))
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&e.name, "format", "f", "", "write this `FORMAT`")
	f.StringVarP(&e.output, "output", "o", "", "write to `FILE`, into this folder (FOLDER/ is made if it does "+
		"not exist), or to stdout (-)")
	f.BoolVar(&list, "list", false, "list the formats, and what each of them keeps and loses")
	f.BoolVar(&asJSON, "json", false, "with --list: as JSON")
	e.filters(f)
	e.programs.add(f)
	f.StringVar(&e.By, "by", "", "group by `WHAT`, where the format leaves a choice; see --list")
	f.StringSliceVar(&e.Metrics, "metric", nil, "write these `METRICS`, where the format leaves a choice; \"heaptap "+
		"help metrics\" lists them")
	f.StringVar(&e.At, "at", "", "the `TIME` for what is live; default: that of --to")
	e.scrub.add(f)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case list && asJSON:
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			return e.Encode(map[string]any{"formats": formats.Describe()})
		case list:
			return formats.WriteList(cmd.OutOrStdout(), helpWidth)
		}
		e.selected = e.asked(cmd.Flags())
		if e.At != "" {
			e.selected = append(e.selected, "--at "+e.At)
		}
		return e.export(cmd, args)
	}
	complete(cmd, "format", export.Names(formats.All))
	return cmd
}

// exporter writes recordings in a format.
type exporter struct {
	queryFlags
	flag         string // that named the format
	done         string // the verb for messages: exported, pushed
	name, output string
	selected     []string // what was asked for, as it is written
	format       *export.Format
	variant      export.Variant
	scrub        scrubFlags
}

// find finds the format, and checks that it can hold the answer.
func (e *exporter) find(cmd *cobra.Command) error {
	var ok bool
	if e.format, e.variant, ok = export.Find(formats.All, e.name); !ok {
		return unknownWord(cmd, e.flag, e.name, export.Names(formats.All))
	}
	f := e.format
	fixed := e.variant.Fixed
	switch {
	case e.Metrics != nil && (f.Metrics == nil || fixed):
		return usagef("%s: --metric: the content of %s is fixed", cmd.Name(), e.name)
	case len(e.Metrics) > 1 && f.One:
		return usagef("%s: --metric %s: %s holds one metric", cmd.Name(), strings.Join(e.Metrics, ","), f.Name)
	case e.By != "" && (f.By == nil || fixed):
		return usagef("%s: --by: the grouping of %s is fixed", cmd.Name(), e.name)
	case e.By != "" && !slices.Contains(formats.Groupings(f), e.By):
		return unknownWord(cmd, "by", e.By, formats.Groupings(f))
	}
	for _, name := range e.Metrics {
		m, known := query.ParseMetric(name)
		if _, integer := m.Integer(&query.Values{}); known && !f.AnyKind && (!integer || !m.Sums()) {
			return usagef("%s: --metric %s: it does not sum up over call stacks, which %s needs; -f csv can hold it",
				cmd.Name(), name, f.Name)
		}
	}
	return nil
}

// export writes all recordings.
func (e *exporter) export(cmd *cobra.Command, files []string) error {
	if err := e.find(cmd); err != nil {
		return err
	}
	found, err := findAll(cmd.Context(), e.programs.finder(cmd), files)
	if err != nil {
		return err
	}
	defer found.Close()
	inputs := found.Recordings
	out, err := e.destination(cmd, inputs)
	if err != nil {
		return err
	}
	own := slices.Clone(files)
	for i := range inputs {
		own = append(own, inputs[i].Name)
	}
	for _, name := range own {
		if out.File != "" && outfile.SameFile(out.File, name) {
			return fmt.Errorf("%s: is the recording itself; -o names another file", out.File)
		}
	}
	for i := range inputs {
		if err := e.exportOne(cmd, &inputs[i], out); err != nil {
			return err
		}
	}
	return nil
}

// exportOne writes one recording.
func (e *exporter) exportOne(cmd *cobra.Command, r *input.Recording, out *outfile.Destination) error {
	source, remove, err := e.scrub.temporary(r)
	if err != nil {
		return err
	}
	defer remove()
	s, err := source.Source()
	if err != nil {
		return err
	}
	return errors.Join(out.Write(r.Name, func(w io.Writer) error { return e.write(cmd, s, source.Name, w) }), s.Close())
}

// write writes one recording to w.
func (e *exporter) write(cmd *cobra.Command, s *query.Source, path string, w io.Writer) error {
	in, err := e.input(cmd, s, path)
	if err != nil {
		return err
	}
	return e.format.Write(cmd.Context(), w, in)
}

// input is the question about one recording.
func (e *exporter) input(cmd *cobra.Command, s *query.Source, path string) (*export.Input, error) {
	q, err := e.query(cmd, s)
	if err != nil {
		return nil, err
	}
	if e.By == "" && e.format.By != nil {
		q.By = e.format.By[0]
	}
	if q.Metrics == nil {
		q.Metrics = e.format.Metrics
	}
	in := &export.Input{Source: s, Query: *q, Name: outfile.Name(path), Variant: e.variant.Name, Asked: e.selected}
	warned := false
	in.Missing = func(text string) {
		if !warned {
			fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: only the readable part was %s: %s\n", e.done,
				escape.Terminal(text))
		}
		warned = true
	}
	cut := false
	in.Cut = func() {
		if !cut {
			fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: the call stacks of %s have too many frames to be %s completely: "+
				"%s stands for the outer frames of the deepest ones\n",
				escape.Terminal(in.Name), e.done, export.CutName)
		}
		cut = true
	}
	if d := s.Reader.Damage(); len(d) > 0 {
		in.Missing((&recording.DamageError{Name: s.Reader.Name(), Damage: d}).Error())
	}
	return in, nil
}

// destination says where to write. No two recordings may go to one file.
func (e *exporter) destination(cmd *cobra.Command, inputs []input.Recording) (*outfile.Destination, error) {
	d := &outfile.Destination{Extension: e.format.FileExtension(e.variant)}
	out := cmd.OutOrStdout()
	terminal := isTerminal(out)
	if strings.HasSuffix(e.output, "/") { // which says that it is meant to be a folder
		if err := os.MkdirAll(e.output, 0o777); err != nil {
			return nil, fmt.Errorf("export: -o %s: cannot make the folder: %w", e.output, err)
		}
	}
	st, err := os.Stat(e.output)
	folder := err == nil && st.IsDir()
	switch {
	case e.output == "-" && e.format.Binary && terminal:
		return nil, usagef("%s: %s is binary and stdout a terminal; -o names a file", cmd.Name(), e.name)
	case e.output == "-" && len(inputs) > 1, e.output != "" && !folder && len(inputs) > 1:
		return nil, usagef("%s: -o %s: several recordings need a file each; -o may name a folder", cmd.Name(), e.output)
	case e.output == "-", e.output == "" && len(inputs) == 1 && !terminal:
		d.Stdout = out
		return d, nil
	case e.output != "" && !folder:
		d.File = e.output
		return d, nil
	}
	d.Dir, d.Names = e.output, cmd.ErrOrStderr()
	var names []string
	for i := range inputs {
		names = append(names, inputs[i].Name)
	}
	return d, d.Distinct(names)
}
