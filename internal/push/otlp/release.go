package otlp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/push/call"
)

// old is the release that collectors up to 0.147 read. Its messages are no error to newer ones, which take the values of samples for numbers of
// attributes, and so lose them; those of newer releases are one to it.
const old = "v0.2"

// versionHeader says what the fields of a message mean. Collectors from 0.163 on refuse what they do not read by it; without it they take
// messages for those of schema 1. There is no number for older forms: 0 is refused by all who look.
const versionHeader = "otlp-profiles-development-version"

// schemas are the values of the header, by release.
var schemas = map[string]string{"v0.4": "1", old: "0"}

// The field of a sample that has another type in the old release. A collector that reads that says so of a message of a newer one.
const misreadField = "LinkIndex"

// misread reports whether a server refused a message because it reads another release.
func misread(err error) bool {
	var e *call.Error
	return errors.As(err, &e) && (strings.Contains(e.Text, misreadField) || strings.Contains(e.Text, versionHeader))
}

// check holds that the server reads the release that was asked for, if that is one whose values others lose without a word. The message
// that it sends cannot be read to its end by any release, so that no server keeps anything of it: what matters is where it stops.
func (s *Store) check(ctx context.Context) error {
	if s.release != old {
		return nil
	}
	var refused *call.Error
	err := s.client.Do(ctx, func(ctx context.Context) error {
		_, err := s.send(ctx, unreadable(), "v0.4")
		return err
	})
	switch {
	case err == nil:
		return nil // it takes anything
	case !errors.As(err, &refused) || refused.Passes():
		return err
	case strings.Contains(refused.Text, laterField):
		return fmt.Errorf("%s reads a newer release of the protocol than %s, and would lose all values; leave --otlp-version out", call.Server(s.server), old)
	}
	return nil // the profile itself will show what else is wrong
}

// laterField is where a collector of a newer release stops reading what unreadable returns.
const laterField = "Dictionary"

// unreadable is a message with a sample that is one of newer releases only, then a dictionary that is a number, and an end within a field.
func unreadable() []byte {
	var sample, profile, scope, resource, m protobuf.Message
	const sampleValues, profileSamples, scopeProfiles, resourceScopes, dataResources, dataDictionary = 4, 2, 2, 2, 1, 2
	sample.Packed(sampleValues, []uint64{1})
	profile.Message(profileSamples, &sample)
	scope.Message(scopeProfiles, &profile)
	resource.Message(resourceScopes, &scope)
	m.Message(dataResources, &resource)
	m.SetUint(dataDictionary, 1)
	return append(m.Bytes(), dataDictionary<<3|2, 0x7f)
}

// hinted adds to an error what may be done about it.
func (s *Store) hinted(err error) error {
	var e *call.Error
	var port *call.WrongPort
	hint := ""
	switch {
	case errors.As(err, &port):
		hint = "write HOST:PORT without http://, or the collector's port of HTTP, 4318 by default"
	case !errors.As(err, &e):
	case misread(err) && s.asked:
		hint = "the collector reads another release of the protocol than " + s.release + "; leave --otlp-version out"
	case misread(err):
		hint = "the collector reads a release of the protocol that heaptap does not write"
	case e.Status == http.StatusRequestEntityTooLarge, strings.Contains(e.Text, "larger than max"), strings.Contains(e.Text, "body too large"):
		setting := "max_request_body_size"
		if s.grpc {
			setting = "max_recv_msg_size_mib"
		}
		hint = "send less at once by --every or --metric, or raise " + setting + " of the collector's receiver"
	case e.Status == http.StatusNotFound, strings.Contains(e.Text, "unknown service"):
		hint = "is the collector started with --feature-gates=service.profilesSupport, and is there a pipeline of profiles?"
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}
