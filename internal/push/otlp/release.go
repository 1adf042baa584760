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

// old is the release that collectors up to 0.147 read. Newer collectors accept its messages but lose the values,
// because they take the values of samples for attribute numbers. Old collectors refuse the messages of newer releases.
const old = "v0.2"

// versionHeader names the schema of a message. Collectors from 0.163 on refuse schemas that they do not know, and
// assume schema 1 if the header is missing. Older layouts have no number: every collector that reads the header refuses
// 0.
const versionHeader = "otlp-profiles-development-version"

// schemas are the values of versionHeader, by release.
var schemas = map[string]string{"v0.4": "1", old: "0"}

// misreadField is a field of samples whose type differs in the old release. A collector that reads the old release
// names this field when it refuses a newer message.
const misreadField = "LinkIndex"

// misread reports whether a server refused a message because it reads another release.
func misread(err error) bool {
	var e *call.Error
	return errors.As(err, &e) && (strings.Contains(e.Text, misreadField) || strings.Contains(e.Text, versionHeader))
}

// check checks that the server reads the old release, if the user chose that: a newer server would lose the values
// without an error. It sends a message that is malformed in every release, so that no server stores it. Where a server
// stops reading shows its release.
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
		return nil // the server accepts anything
	case !errors.As(err, &refused) || refused.Retryable():
		return err
	case strings.Contains(refused.Text, laterField):
		return fmt.Errorf("%s reads a newer release of the protocol than %s, and would lose all values; leave out "+
			"--otlp-version", call.Server(s.server), old)
	}
	return nil // pushing the profile will show any other error
}

// laterField is the field at which collectors of newer releases stop reading the message of unreadable.
const laterField = "Dictionary"

// unreadable returns a message with a sample that is valid only in newer releases, then a dictionary of the wrong type,
// then a field that is cut short.
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

// withHint adds to an error what the user can do about it.
func (s *Store) withHint(err error) error {
	var e *call.Error
	var port *call.WrongPort
	hint := ""
	switch {
	case errors.As(err, &port):
		hint = "write HOST:PORT without http://, or use the collector's HTTP port (4318 by default)"
	case !errors.As(err, &e):
	case misread(err) && s.asked:
		hint = "the collector reads another release of the protocol than " + s.release + "; leave out --otlp-version"
	case misread(err):
		hint = "the collector reads a release of the protocol that heaptap does not write"
	case e.Status == http.StatusRequestEntityTooLarge, strings.Contains(e.Text, "larger than max"),
		strings.Contains(e.Text, "body too large"):
		setting := "max_request_body_size"
		if s.grpc {
			setting = "max_recv_msg_size_mib"
		}
		hint = "send less at once by --every or --metric, or raise " + setting + " of the collector's receiver"
	case e.Status == http.StatusNotFound, strings.Contains(e.Text, "unknown service"):
		hint = "is the collector started with --feature-gates=service.profilesSupport, and does it have a pipeline " +
			"for profiles?"
	}
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}
