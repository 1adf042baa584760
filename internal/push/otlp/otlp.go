// Package otlp sends profiles to what takes OpenTelemetry's: a collector, or a store that speaks its protocol.
//
// The request of opentelemetry.proto.collector.profiles.v1development.ProfilesService has the fields of the message ProfilesData, which the
// export format writes: resources 1, dictionary 2.
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
	// Path is where collectors take profiles over HTTP.
	Path = "/v1development/profiles"
)

// Store is a server that takes OpenTelemetry's profiles.
type Store struct {
	client  *call.Client
	server  *url.URL
	grpc    bool
	release string // "": not known yet
	asked   bool   // the release was asked for
	checked bool   // that the server reads it
}

// NewGRPC returns the server at an address of scheme http or https, which speaks gRPC, as the client does. Release is a variant of the export
// format; "": what the server turns out to read.
func NewGRPC(client *call.Client, server *url.URL, release string) *Store {
	return &Store{client, server, true, release, release != "", false}
}

// NewHTTP returns the server at a URL. If it has no path, Path it is.
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
			return s.hinted(err)
		}
		s.checked = true
	}
	if s.release != "" {
		return s.hinted(s.push(ctx, in, s.release))
	}
	newest := otlp.Format.Variants[0].Name
	err := s.push(ctx, in, newest)
	if !misread(err) {
		if err == nil {
			s.release = newest
		}
		return s.hinted(err)
	}
	// What cannot be read is refused, so nothing is kept twice.
	switch again := s.push(ctx, in, old); {
	case again == nil:
		s.release = old
		return nil
	case !misread(again):
		return s.hinted(again)
	}
	return s.hinted(err)
}

// push sends a profile as a release has it.
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
			return &call.Error{Server: call.Server(s.server), Code: 3, Text: fmt.Sprintf("%d profiles were rejected: %s", n, why)}
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

// attributes are labels by the names that attributes have. What the other stores call pid is a process's attribute here: leaving it out or
// replacing it by that name means the same.
func attributes(labels []export.Label) []export.Label {
	names := map[string]string{"pid": "process.pid", "hostname": "host.name", "service_name": "service.name"}
	list := slices.Clone(labels)
	for i, l := range list {
		list[i].Name = cmp.Or(names[l.Name], l.Name)
	}
	return list
}
