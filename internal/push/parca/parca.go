// Package parca sends profiles to Parca, by its service parca.profilestore.v1alpha1.ProfileStoreService over gRPC.
package parca

import (
	"context"
	"net/url"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/pprof"
	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/push"
	"github.com/heaptap/heaptap/internal/push/call"
	"github.com/heaptap/heaptap/internal/query"
)

// Fields of the messages in profilestore.proto.
const (
	requestSeries               = 2
	seriesLabels, seriesSamples = 1, 2
	labelSetLabels              = 1
	labelName, labelValue       = 1, 2
	sampleRawProfile            = 1
	method                      = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
)

// Store is a Parca server.
type Store struct {
	client *call.Client
	server *url.URL
}

// New returns the server at an address of scheme http or https. The client is one for gRPC.
func New(client *call.Client, server *url.URL) *Store { return &Store{client, server} }

// Push sends a profile, the input's period being given. Parca takes what has a duration for what came to be in that time, and adds it up over time; what has none, for what
// there was at a moment. So these are two profiles.
func (s *Store) Push(ctx context.Context, in *export.Input) error {
	asked := in.Query.Metrics
	if asked == nil {
		asked = pprof.Format.Metrics
	}
	var sums, levels []query.Metric
	for _, m := range asked {
		if level(m) {
			levels = append(levels, m)
		} else {
			sums = append(sums, m)
		}
	}
	var set, one, request protobuf.Message
	for _, l := range push.Labels(in) {
		var m protobuf.Message
		m.String(labelName, l.Name)
		m.String(labelValue, l.Value)
		set.Message(labelSetLabels, &m)
	}
	one.Message(seriesLabels, &set)
	for i, metrics := range [][]query.Metric{sums, levels} {
		if len(metrics) == 0 {
			continue
		}
		part := *in
		part.Query.Metrics = metrics
		if i == 1 {
			part.Period = &export.Period{Begin: in.Period.Begin + in.Period.Span}
		}
		profile, err := push.Written(ctx, &pprof.Format, &part)
		if err != nil {
			return err
		}
		var m protobuf.Message
		m.Blob(sampleRawProfile, profile)
		one.Message(seriesSamples, &m)
	}
	request.Message(requestSeries, &one)
	return s.client.Do(ctx, func(ctx context.Context) error {
		_, err := s.client.Unary(ctx, s.server, method, request.Bytes())
		return err
	})
}

// level reports whether a metric says what there was at a moment, not what came to be.
func level(m query.Metric) bool {
	switch m {
	case query.Live, query.LiveBlocks, query.Peak, query.PeakBlocks:
		return true
	}
	return false
}
