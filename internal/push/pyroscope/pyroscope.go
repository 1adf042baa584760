// Package pyroscope sends profiles to Grafana Pyroscope (1.0 or later), as JSON to its service push.v1.PusherService.
package pyroscope

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/pprof"
	"github.com/heaptap/heaptap/internal/push"
	"github.com/heaptap/heaptap/internal/push/call"
)

// Store is a Pyroscope server.
type Store struct {
	client *call.Client
	to     *url.URL
}

// New returns the server at a URL, which may have a path prefix, a user and a password.
func New(client *call.Client, server *url.URL) *Store {
	return &Store{client, server.JoinPath("push.v1.PusherService", "Push")}
}

// The messages of the service in the JSON mapping of Protocol Buffers: bytes are base64.
type (
	pushRequest struct {
		Series []series `json:"series"`
	}
	series struct {
		Labels  []label  `json:"labels"`
		Samples []sample `json:"samples"`
	}
	label struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	sample struct {
		RawProfile []byte `json:"rawProfile"`
		ID         string `json:"ID"`
	}
)

// Push sends a profile.
func (s *Store) Push(ctx context.Context, in *export.Input) error {
	profile, err := push.Written(ctx, &pprof.Format, in)
	if err != nil {
		return err
	}
	// Values are those of the profile's own time. Without __delta__=false the server would take them for sums since the
	// program's start, subtract the previous ones, and drop the first profile.
	one := series{Labels: []label{{"__delta__", "false"}}, Samples: []sample{{profile, id(profile)}}}
	for _, l := range push.Labels(in) {
		one.Labels = append(one.Labels, label(l))
	}
	body, err := json.Marshal(pushRequest{[]series{one}})
	if err != nil {
		return err
	}
	return s.client.Do(ctx, func(ctx context.Context) error {
		_, err := s.client.Post(ctx, s.to, http.Header{"Content-Type": {"application/json"}}, body)
		return err
	})
}

// id returns a UUID derived from the contents of a profile, so that a profile that is sent again has the same one.
func id(profile []byte) string {
	h := sha256.Sum256(profile)
	h[6] = h[6]&0x0f | 0x80 // version 8: custom
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
