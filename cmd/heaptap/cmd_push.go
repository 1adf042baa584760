package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/formats"
	"github.com/heaptap/heaptap/internal/export/otlp"
	"github.com/heaptap/heaptap/internal/export/pprof"
	"github.com/heaptap/heaptap/internal/input"
	"github.com/heaptap/heaptap/internal/push"
)

func newPushCommand() *cobra.Command {
	p := &pusher{}
	cmd := &cobra.Command{
		Use:   "push --clickhouse URL|--pyroscope URL|--parca ADDR|--otlp ADDR [flags] [RUN...]",
		Short: "Send recordings to ClickHouse, Pyroscope, Parca or an OpenTelemetry collector",
		Long: `Push sends recordings to a server that stores them. docs/push.md has the details.

ClickHouse gets tables: recordings, stacks, frames, timeline, and with --events every event. They
are created if they do not exist. Pushing the same recording again changes nothing, and repeating an
interrupted push completes it. The URL is http://HOST:8123/DATABASE. User and password are in it
(http://USER:PASSWORD@HOST...) or in CLICKHOUSE_USER and CLICKHOUSE_PASSWORD.

Pyroscope, Parca and OpenTelemetry collectors get profiles: one of the whole recording, or with
--every one of each slice of it, with what was allocated in that time and what was live at its end.
ADDR is HOST:PORT (gRPC), grpcs://HOST:PORT (gRPC over TLS), and for --otlp also an http or https
URL.

Temporary failures are retried for as long as --retry says.`,
		Example: `  heaptap push --clickhouse http://localhost:8123 server.4711.htap
  heaptap push --pyroscope http://localhost:4040 --every 10s --label env=test server.4711.htap
  heaptap push --parca localhost:7070 server.4711.htap
  heaptap push --otlp localhost:4317 --header 'authorization=Bearer TOKEN' server.4711.htap`,
	}
	f := cmd.Flags()
	f.StringVar(&p.clickhouse, "clickhouse", "", "put tables into the ClickHouse server at this `URL`")
	f.StringVar(&p.pyroscope, "pyroscope", "", "send profiles to the Pyroscope server at this `URL`")
	f.StringVar(&p.parca, "parca", "", "send profiles to the Parca server at this `ADDR`")
	f.StringVar(&p.otlp, "otlp", "", "send profiles to the OpenTelemetry collector at this `ADDR`")
	f.StringVar(&p.release, "otlp-version", "", "the `VERSION` of OpenTelemetry's profiles: "+
		strings.Join(releases(), ", ")+"; default: the one that the collector reads")
	f.BoolVar(&p.events, "events", false, "with --clickhouse: every event, too")
	f.DurationVar(&p.every, "every", 0, "cut the recording into slices of this `DURATION`, a profile each")
	f.StringArrayVar(&p.labels, "label", nil, "add the label `NAME=VALUE` to the profiles; without a value: "+
		"remove it; may be repeated")
	f.StringArrayVar(&p.headers, "header", nil, "send the header `NAME=VALUE` with every call; may be repeated")
	f.DurationVar(&p.patience, "retry", 30*time.Second, "retry temporary failures for this `DURATION`; 0: never")
	p.filters(f)
	p.programs.add(f)
	f.StringVar(&p.By, "by", "", "group the profiles' samples by `WHAT`: "+
		strings.Join(formats.Groupings(&pprof.Format), ", "))
	f.StringSliceVar(&p.Metrics, "metric", nil, "send these `METRICS`; \"heaptap help metrics\" lists them")
	f.StringVar(&p.At, "at", "", "the `TIME` for what is live; default: that of --to")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		p.selected = p.asked(f)
		if p.At != "" {
			p.selected = append(p.selected, "--at "+p.At)
		}
		return p.push(cmd, args)
	}
	complete(cmd, "otlp-version", releases())
	complete(cmd, "by", formats.Groupings(&pprof.Format))
	return cmd
}

// releases are the versions of OpenTelemetry's profiles that are known.
func releases() (list []string) {
	for _, v := range otlp.Format.Variants {
		list = append(list, v.Name)
	}
	return list
}

// pusher sends recordings to a server.
type pusher struct {
	exporter
	destinations
	events bool
	every  time.Duration
	labels []string
	given  []export.Label
}

// push sends all recordings.
func (p *pusher) push(cmd *cobra.Command, files []string) error {
	if err := p.check(cmd); err != nil {
		return err
	}
	send, err := p.open(cmd)
	if err != nil {
		return err
	}
	found, err := findAll(cmd.Context(), p.programs.finder(cmd), files)
	if err != nil {
		return err
	}
	defer found.Close()
	for i := range found.Recordings {
		if err := p.pushOne(cmd, &found.Recordings[i], send); err != nil {
			return err
		}
	}
	return nil
}

// check checks that the flags make sense together.
func (p *pusher) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if changed("otlp-version") && !slices.Contains(releases(), p.release) {
		return unknownWord(cmd, "otlp-version", p.release, releases())
	}
	if p.clickhouse != "" {
		for _, name := range []string{"every", "label", "by", "metric"} {
			if changed(name) {
				return usagef("push: --%s is for profiles; ClickHouse gets tables", name)
			}
		}
	}
	switch {
	case changed("every") && p.every <= 0:
		return usagef("push: --every %v: must be positive", p.every)
	case p.every > 0 && p.At != "":
		return usagef("push: --at and --every exclude each other: slices show what is live at their end")
	case p.patience < 0:
		return usagef("push: --retry %v: must not be negative", p.patience)
	}
	for _, text := range p.labels {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return usagef("push: --label %s: write NAME=VALUE", text)
		}
		p.given = append(p.given, export.Label{Name: name, Value: value})
	}
	p.name, p.flag, p.done = "pprof", "metric", "pushed"
	if p.clickhouse != "" {
		p.name = "csv"
	}
	return p.find(cmd)
}

// pushOne sends one recording.
func (p *pusher) pushOne(cmd *cobra.Command, r *input.Recording, to sender) error {
	path := r.Name
	s, err := r.Source()
	if err != nil {
		return err
	}
	in, err := p.input(cmd, s, path)
	if err == nil {
		in.Labels = p.given
		if to.tables != nil {
			err = p.pushTables(cmd, path, in, to)
		} else {
			err = p.pushProfiles(cmd, in, to)
		}
	}
	if err != nil && to.names(err) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return errors.Join(err, s.Close())
}

// pushTables puts a recording into ClickHouse.
func (p *pusher) pushTables(cmd *cobra.Command, path string, in *export.Input, to sender) error {
	id, err := push.ContentID(cmd.Context(), in.Reader.Content(), p.selected)
	if err != nil {
		return err
	}
	result, err := to.tables.Push(cmd.Context(), in, id, p.events)
	if err != nil {
		return err
	}
	for _, name := range result.Twice {
		fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: some rows are twice in %s until the server merges them; SELECT ... "+
			"FROM %s FINAL counts them once\n", name, name)
	}
	if result.OnlySums {
		fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s: has sums only; without a timeline\n", escape.Terminal(path))
	}
	what := fmt.Sprintf("%d rows", result.Rows)
	if result.Already {
		what = "was there"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; recording %s in %s\n", escape.Terminal(path), what, result.ID,
		to.name)
	return err
}

// pushProfiles sends a recording, or its slices, to a store.
func (p *pusher) pushProfiles(cmd *cobra.Command, in *export.Input, to sender) error {
	sent, err := push.Send(cmd.Context(), to.store, in, p.every, progressOf(cmd, "sending"))
	if err != nil {
		return err
	}
	word := "profiles"
	if sent == 1 {
		word = "profile"
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d %s to %s\n", escape.Terminal(in.Reader.Name()), sent, word, to.name)
	return err
}
