// Package parca sends profiles to Parca, through its gRPC service parca.profilestore.v1alpha1.ProfileStoreService.
package parca

import (
	"context"
	"net/url"
	"slices"

	"github.com/heaptap/heaptap/internal/export"
	"github.com/heaptap/heaptap/internal/export/pprof"
	"github.com/heaptap/heaptap/internal/export/protobuf"
	"github.com/heaptap/heaptap/internal/push"
	"github.com/heaptap/heaptap/internal/push/call"
	"github.com/heaptap/heaptap/internal/query"
)

// Field numbers of profilestore.proto.
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

// New returns the server at an address of scheme http or https. The client must be one for gRPC.
func New(client *call.Client, server *url.URL) *Store { return &Store{client, server} }

// Push sends profiles of the input, whose Period must be set. Parca adds up profiles that have a duration over time,
// and takes those without one for the state at a moment. So sums and levels are separate profiles. Parca drops the
// labels of samples, so each group of blocks is a series of its own, with the group's labels.
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
	var all allSeries
	for i, metrics := range [][]query.Metric{sums, levels} {
		if len(metrics) == 0 {
			continue
		}
		part := *in
		part.Query.Metrics = metrics
		if i == 1 {
			part.Period = &export.Period{Begin: in.Period.Begin + in.Period.Span}
		}
		parts, err := pprof.Parts(ctx, &part)
		if err != nil {
			return err
		}
		for _, p := range parts {
			all.add(labels(in, p.Labels), p.Profile)
		}
	}
	var request protobuf.Message
	for _, one := range all.list {
		request.Message(requestSeries, one)
	}
	return s.client.Do(ctx, func(ctx context.Context) error {
		_, err := s.client.Unary(ctx, s.server, method, nil, request.Bytes())
		return err
	})
}

// labels returns the labels of a series. The group's labels replace others of the same name.
func labels(in *export.Input, group []export.Label) []export.Label {
	list := slices.DeleteFunc(push.Labels(in), func(l export.Label) bool {
		return slices.ContainsFunc(group, func(g export.Label) bool { return g.Name == l.Name })
	})
	return append(list, group...)
}

// allSeries are the series of a request, in the order in which they were added.
type allSeries struct {
	byLabels map[string]*protobuf.Message
	list     []*protobuf.Message
}

// add adds a profile to the series with these labels.
func (a *allSeries) add(labels []export.Label, profile []byte) {
	var set, sample protobuf.Message
	for _, l := range labels {
		var m protobuf.Message
		m.String(labelName, l.Name)
		m.String(labelValue, l.Value)
		set.Message(labelSetLabels, &m)
	}
	key := string(set.Bytes())
	one := a.byLabels[key]
	if one == nil {
		one = new(protobuf.Message)
		one.Message(seriesLabels, &set)
		if a.byLabels == nil {
			a.byLabels = make(map[string]*protobuf.Message)
		}
		a.byLabels[key] = one
		a.list = append(a.list, one)
	}
	sample.Blob(sampleRawProfile, profile)
	one.Message(seriesSamples, &sample)
}

// level reports whether a metric is a state at a moment, rather than a sum over a time.
func level(m query.Metric) bool {
	switch m {
	case query.Live, query.LiveBlocks, query.Peak, query.PeakBlocks:
		return true
	}
	return false
}
