package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heaptap/heaptap/internal/escape"
	"github.com/heaptap/heaptap/internal/push"
	"github.com/heaptap/heaptap/internal/push/call"
	"github.com/heaptap/heaptap/internal/push/clickhouse"
	"github.com/heaptap/heaptap/internal/push/otlp"
	"github.com/heaptap/heaptap/internal/push/parca"
	"github.com/heaptap/heaptap/internal/push/pyroscope"
)

// destinations are the servers that push may send to; one is chosen.
type destinations struct {
	clickhouse, pyroscope, parca, otlp string
	release                            string // of OpenTelemetry's profiles
	headers                            []string
	patience                           time.Duration
}

// sender is the chosen server. It takes tables, or it is a store of profiles.
type sender struct {
	name   string // without a password
	tables *clickhouse.Server
	store  push.Store
}

// names reports whether an error names the server.
func (s *sender) names(err error) bool { return strings.Contains(err.Error(), s.name) }

// open prepares to send. Nothing is sent yet.
func (d *destinations) open(cmd *cobra.Command) (sender, error) {
	flag, text, err := d.chosen()
	if err != nil {
		return sender{}, err
	}
	schemes := call.Schemes{HTTP: flag != "parca", GRPC: flag == "parca" || flag == "otlp"}
	to, grpc, err := call.ParseAddress(text, schemes)
	if err != nil {
		return sender{}, usagef("push: --%s: %w", flag, err)
	}
	c, err := d.client(cmd, grpc)
	if err != nil {
		return sender{}, err
	}
	out := sender{name: call.Server(to)}
	switch flag {
	case "clickhouse":
		out.tables, err = clickhouse.New(c, to, os.Getenv("CLICKHOUSE_USER"), os.Getenv("CLICKHOUSE_PASSWORD"))
	case "pyroscope":
		out.store = pyroscope.New(c, to)
	case "parca":
		out.store = parca.New(c, to)
	case "otlp":
		if out.store = otlp.NewHTTP(c, to, d.release); grpc {
			out.store = otlp.NewGRPC(c, to, d.release)
		}
	}
	return out, err
}

// chosen returns the flag that says where to send to, and its value.
func (d *destinations) chosen() (flag, address string, err error) {
	n := 0
	for _, f := range []struct{ name, value string }{{"clickhouse", d.clickhouse}, {"pyroscope", d.pyroscope},
		{"parca", d.parca}, {"otlp", d.otlp}} {
		if f.value != "" {
			flag, address = f.name, f.value
			n++
		}
	}
	if n != 1 {
		err = usagef("push: to where? One of --clickhouse URL, --pyroscope URL, --parca ADDR, --otlp ADDR is needed")
	}
	return flag, address, err
}

// client makes the client of the server.
func (d *destinations) client(cmd *cobra.Command, grpc bool) (*call.Client, error) {
	c := call.New()
	if grpc {
		c = call.NewGRPC()
	}
	c.Patience = d.patience
	c.OnRetry = func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s\n", escape.Terminal(text)) }
	for _, text := range d.headers {
		name, value, err := call.ParseHeader(text)
		if err != nil {
			return nil, usagef("push: --header %w", err)
		}
		c.Header.Set(name, value)
	}
	return c, nil
}
