package query

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/heaptap/heaptap/internal/profile"
	"github.com/heaptap/heaptap/internal/recording"
	"github.com/heaptap/heaptap/internal/recording/timetravel"
	"github.com/heaptap/heaptap/internal/run"
	"github.com/heaptap/heaptap/internal/tally"
)

// Source is a recording to which questions are put. It is safe for concurrent use.
type Source struct {
	Reader  *recording.Reader
	Profile *profile.Profile
	sum     *tally.Summary
	first   uint64 // cuts at which the events begin and end
	last    uint64
	mu      sync.Mutex // protects Profile's frames, which are resolved on first use

	timeline timetravel.Timeline

	runtimeOnce sync.Once
	runtimeMade stackSet

	chart  atomic.Pointer[chart] // nil: there is no atlas
	recent atomic.Pointer[recentFilter]
	pairs  atomic.Pointer[foundPairs]
	cells  atomic.Pointer[heapCells] // of the last film

	regionsOnce sync.Once
	regionsMade *regionTree
	spansOnce   sync.Once
	spansMade   []RegionSpan
}

// New prepares a recording for questions, which may mean that it counts events, until the context ends. The caller
// keeps and closes the Reader.
func New(ctx context.Context, r *recording.Reader) (*Source, error) {
	p, err := profile.Load(ctx, r)
	if err != nil {
		return nil, err
	}
	s := &Source{Reader: r, Profile: p}
	s.first, s.last = r.Cuts()
	s.sum, err = r.Tally()
	return s, err
}

// Open opens the recording at a path or an address of a run for questions.
func Open(path string) (*Source, error) {
	r, err := run.OpenRecording(path)
	if err != nil {
		return nil, err
	}
	s, err := New(context.Background(), r)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return s, nil
}

// Close closes the recording, and drops what was kept of it for further questions.
func (s *Source) Close() error {
	keptForests.DropIf(func(k forestKey) bool { return k.s == s })
	keptListings.DropIf(func(k listingKey) bool { return k.s == s })
	return s.Reader.Close()
}

// frames returns the functions at a pc, leaf to root, at least one.
func (s *Source) frames(pc uint32) []profile.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Profile.PCFrames(pc)
}

// PCFrames returns the frames of a pc, leaf to root, at least one.
func (s *Source) PCFrames(pc uint32) []profile.Frame { return s.frames(pc) }

// allFrames returns all frames of a call stack, leaf to root.
func (s *Source) allFrames(stack uint32) (list []profile.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Profile.AllPCs(stack, func(pc uint32) bool {
		list = append(list, s.Profile.PCFrames(pc)...)
		return true
	})
	return list
}

// Frames returns the frames of a call stack, leaf to root, as Profile.PCs has them; none if the stack is unknown.
func (s *Source) Frames(stack uint32) []profile.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Profile.AppendFrames(nil, stack)
}

// pathToRoot returns the nodes of the calling-context tree from a stack to its root, or up to the first node, excluded,
// for which stop returns true.
func (s *Source) pathToRoot(buf []uint32, stack uint32, stop func(id uint32) bool) []uint32 {
	nodes := s.Reader.Nodes()
	for stack != 0 && !stop(stack) {
		n, ok := nodes.Get(stack)
		if !ok {
			break
		}
		buf = append(buf, stack)
		stack = n.Parent
	}
	return buf
}

// ThreadEnded returns when a thread ended, in ns since the recording's start; nil if it did not, or if that is unknown.
func (s *Source) ThreadEnded(thread uint32) *int64 {
	list := s.Reader.Threads()
	if int64(thread) >= int64(len(list)) {
		return nil
	}
	return list[thread].Ended()
}
