// Package otlp sends profiles to OpenTelemetry collectors, and to stores that speak their protocol.
//
// The request of opentelemetry.proto.collector.profiles.v1development.ProfilesService has the same fields as the
// message ProfilesData, which the export format writes: resources 1, dictionary 2.
package otlp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/otlp"
	"github.com/heaptap/heaptap/internal/push"
	"github.com/heaptap/heaptap/internal/push/call"
)

const (
	method = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
	// Path is where collectors receive profiles over HTTP.
	Path = "/v1development/profiles"
)

// Store is a server that receives OpenTelemetry profiles.
type Store struct {
	client  *call.Client
	server  *url.URL
	grpc    bool
	release string // "": not known yet
	asked   bool   // the user chose the release
	checked bool   // check has succeeded
}

// NewGRPC returns a server that speaks gRPC, at an address of scheme http or https. The client must be one for gRPC.
// release is a variant of the export format; "": find out which one the server reads.
func NewGRPC(client *call.Client, server *url.URL, release string) *Store {
	return &Store{client, server, true, release, release != "", false}
}

// NewHTTP returns the server at a URL. If the URL has no path, Path is used.
func NewHTTP(client *call.Client, server *url.URL, release string) *Store {
	to := *server
	if to.Path == "" || to.Path == "/" {
		to.Path = Path
	}
	return &Store{client, &to, false, release, release != "", false}
}

// Push sends a profile.
func (s *Store) Push(ctx context.Context, in *export.Input) error {
	if s.asked && !s.checked {
		if err := s.check(ctx); err != nil {
			return s.withHint(err)
		}
		s.checked = true
	}
	if s.release != "" {
		return s.withHint(s.push(ctx, in, s.release))
	}
	newest := otlp.Format.Variants[0].Name
	err := s.push(ctx, in, newest)
	if !misread(err) {
		if err == nil {
			s.release = newest
		}
		return s.withHint(err)
	}
	// A server refuses what it cannot read, so nothing is stored twice.
	switch again := s.push(ctx, in, old); {
	case again == nil:
		s.release = old
		return nil
	case !misread(again):
		return s.withHint(again)
	}
	return s.withHint(err)
}

// push sends a profile in the layout of a release.
func (s *Store) push(ctx context.Context, in *export.Input, release string) error {
	part := *in
	part.Variant, part.Labels = release, attributes(in.Labels)
	body, err := push.Written(ctx, &otlp.Format, &part)
	if err != nil {
		return err
	}
	return s.client.Do(ctx, func(ctx context.Context) error {
		answer, err := s.send(ctx, body, release)
		if err != nil {
			return err
		}
		if n, why := rejected(answer); n > 0 {
			return &call.Error{Server: call.Server(s.server), Code: 3,
				Text: fmt.Sprintf("%d profiles were rejected: %s", n, why)}
		}
		return nil
	})
}

// send makes one try of a call.
func (s *Store) send(ctx context.Context, body []byte, release string) ([]byte, error) {
	header := http.Header{http.CanonicalHeaderKey(versionHeader): {schemas[release]}}
	if s.grpc {
		return s.client.Unary(ctx, s.server, method, header, body)
	}
	header.Set("Content-Type", "application/x-protobuf")
	return s.client.Post(ctx, s.server, header, body)
}

// attributes renames the labels of other stores (pid, hostname, service_name) to OpenTelemetry's attributes, so that
// they replace or remove these.
func attributes(labels []export.Label) []export.Label {
	names := map[string]string{"pid": "process.pid", "hostname": "host.name", "service_name": "service.name"}
	list := slices.Clone(labels)
	for i, l := range list {
		list[i].Name = cmp.Or(names[l.Name], l.Name)
	}
	return list
}
