package push

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/heaptap/heaptap/internal/export"
)

// Send sends a recording to a store, in slices of a length, or whole if that is 0. Slices in which nothing was
// allocated are left out. progress, which may be nil, is called after each of several slices. Send returns how many
// profiles were sent.
func Send(ctx context.Context, to Store, in *export.Input, every time.Duration,
	progress func(done, total uint64)) (sent int, err error) {
	if every == 0 {
		every = math.MaxInt64
	}
	list, err := Slices(in, every)
	if err != nil {
		return 0, err
	}
	for i := range list {
		if len(list) > 1 {
			in.Query.Range = &list[i].Range
		}
		in.Period = &list[i].Period
		stacks, err := in.Stacks(ctx)
		if err != nil {
			return sent, err
		}
		if len(stacks.Rows) > 0 {
			if err := to.Push(ctx, in); err != nil {
				if sent > 0 {
					err = fmt.Errorf("%w (%d of %d profiles were sent)", err, sent, len(list))
				}
				return sent, err
			}
			sent++
		}
		if progress != nil && len(list) > 1 {
			progress(uint64(i+1), uint64(len(list)))
		}
	}
	return sent, nil
}

// ContentID is an id of what is in a recording, and of which part of it was asked for.
func ContentID(ctx context.Context, recording io.Reader, asked []string) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, recording); err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%q", asked)
	return hex.EncodeToString(h.Sum(nil)[:16]), ctx.Err()
}
