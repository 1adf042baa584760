// Package otlp sends profiles to what takes OpenTelemetry's: a collector, or a store that speaks its protocol.
//
// The request of opentelemetry.proto.collector.profiles.v1development.ProfilesService has the fields of the message ProfilesData, which the
// export format writes: resources 1, dictionary 2.
package otlp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

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
	release string
}

// NewGRPC returns the server at an address of scheme http or https, which speaks gRPC, as the client does. Release is a variant of the export
// format.
func NewGRPC(client *call.Client, server *url.URL, release string) *Store {
	return &Store{client, server, true, release}
}

// NewHTTP returns the server at a URL. If it has no path, Path it is.
func NewHTTP(client *call.Client, server *url.URL, release string) *Store {
	to := *server
	if to.Path == "" || to.Path == "/" {
		to.Path = Path
	}
	return &Store{client, &to, false, release}
}

// Push sends a profile.
func (s *Store) Push(ctx context.Context, in *export.Input) error {
	part := *in
	part.Variant = s.release
	body, err := push.Written(ctx, &otlp.Format, &part)
	if err != nil {
		return err
	}
	return s.client.Do(ctx, func(ctx context.Context) error {
		var answer []byte
		if s.grpc {
			answer, err = s.client.Unary(ctx, s.server, method, body)
		} else {
			answer, err = s.client.Post(ctx, s.server, http.Header{"Content-Type": {"application/x-protobuf"}}, body)
		}
		if err != nil {
			return err
		}
		if n, why := rejected(answer); n > 0 {
			return &call.Error{Server: call.Server(s.server), Code: 3, Text: fmt.Sprintf("%d profiles were rejected: %s", n, why)}
		}
		return nil
	})
}
