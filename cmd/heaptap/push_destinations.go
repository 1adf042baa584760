package main

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
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

// destinations are where push may send to; one is chosen.
type destinations struct {
	clickhouse, pyroscope, parca, otlp string
	release                            string // of OpenTelemetry's profiles
	headers                            []string
	patience                           time.Duration
}

// sender is the one that was chosen: tables or store.
type sender struct {
	name   string // without a password
	tables *clickhouse.Server
	store  push.Store
}

// headerText is a header as --header has it.
var headerText = regexp.MustCompile(`^[0-9A-Za-z_-]+=[^\x00-\x1f\x7f]*$`)

// said reports whether an error is about the server: it names it.
func (s *sender) said(err error) bool { return strings.Contains(err.Error(), s.name) }

// open makes ready to send. Nothing is sent yet.
func (d *destinations) open(cmd *cobra.Command) (sender, error) {
	chosen := 0
	for _, text := range []string{d.clickhouse, d.pyroscope, d.parca, d.otlp} {
		if text != "" {
			chosen++
		}
	}
	if chosen != 1 {
		return sender{}, usagef("push: to where? One of --clickhouse URL, --pyroscope URL, --parca ADDR, --otlp " +
			"ADDR is needed")
	}
	client := func(grpc bool) (*call.Client, error) {
		c := call.New()
		if grpc {
			c = call.NewGRPC()
		}
		c.Patience = d.patience
		c.OnRetry = func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "heaptap: %s\n", escape.Terminal(text)) }
		for _, text := range d.headers {
			name, value, _ := strings.Cut(text, "=")
			if !headerText.MatchString(text) { // the value may be a secret
				return nil, usagef("push: --header %q: write NAME=VALUE, as in X-Scope-OrgID=team", name)
			}
			c.Header.Set(name, value)
		}
		return c, nil
	}
	flag, text := "clickhouse", d.clickhouse
	switch {
	case d.pyroscope != "":
		flag, text = "pyroscope", d.pyroscope
	case d.parca != "":
		flag, text = "parca", d.parca
	case d.otlp != "":
		flag, text = "otlp", d.otlp
	}
	to, grpc, err := address(flag, text)
	if err != nil {
		return sender{}, err
	}
	c, err := client(grpc)
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

// address reads where a server is: a URL of http or https, or for gRPC HOST:PORT, grpc://HOST:PORT or
// grpcs://HOST:PORT, which become http and https.
func address(flag, text string) (u *url.URL, grpc bool, err error) {
	grpcs, https := flag == "parca" || flag == "otlp", flag != "parca"
	form := "http://HOST:PORT"
	if grpcs {
		form = "HOST:PORT or grpcs://HOST:PORT"
	}
	if grpcs && https {
		form += ", or over HTTP http://HOST:PORT"
	}
	if grpcs && !strings.Contains(text, "://") {
		text = "grpc://" + text
	}
	u, err = url.Parse(text)
	if err != nil || u.Host == "" || u.Hostname() == "" { // the error may have a password in it
		return nil, false, usagef("push: --%s: that is not an address; write %s", flag, form)
	}
	scheme := u.Scheme
	if grpcs && strings.HasPrefix(scheme, "grpc") {
		grpc = true
		scheme = strings.Replace(scheme, "grpc", "http", 1)
	}
	switch {
	case scheme != "http" && scheme != "https", !grpc && !https:
		return nil, false, usagef("push: --%s: %s:// is not one of its schemes; write %s", flag, u.Scheme, form)
	case grpc && u.Port() == "":
		return nil, false, usagef("push: --%s %s: the port is missing; write %s", flag, u.Host, form)
	case grpc && strings.Trim(u.Path, "/") != "":
		return nil, false, usagef("push: --%s %s: an address of gRPC has no path", flag, u.Host)
	}
	u.Scheme = scheme
	return u, grpc, nil
}
