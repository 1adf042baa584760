package serve

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"sync"
	"time"
)

// CodeLife is how long a code can be redeemed.
const CodeLife = 30 * time.Second

const (
	maxCodes  = 64 // that are remembered
	maxWrong  = 10 // wrong codes within wrongSpan; then none is accepted
	wrongSpan = time.Minute
)

// door exchanges codes for tokens.
type door struct {
	now func() time.Time

	mu     sync.Mutex
	passes []*pass     // the last one is the newest
	wrong  []time.Time // of the latest wrong codes
}

// pass is a code, and the token that it was exchanged for.
type pass struct {
	code    string
	expires time.Time
	token   string          // "": the code was not redeemed
	valid   context.Context // done when the token is revoked
	revoke  context.CancelCauseFunc
}

func newDoor() *door { return &door{now: time.Now} }

// newCode returns a code that can be redeemed once.
func (d *door) newCode() string {
	p := &pass{code: rand.Text(), expires: d.now().Add(CodeLife)}
	p.valid, p.revoke = context.WithCancelCause(context.Background())
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.passes) == maxCodes {
		d.forgetOne()
	}
	d.passes = append(d.passes, p)
	return p.code
}

// forgetOne drops the oldest code that has no token or, if all have one, the oldest.
func (d *door) forgetOne() {
	i := slices.IndexFunc(d.passes, func(p *pass) bool { return p.token == "" })
	d.passes = slices.Delete(d.passes, max(i, 0), max(i, 0)+1)
}

// redeem returns a token for a code, or why there is none. A second redemption revokes the token of the first.
func (d *door) redeem(code string) (token string, refused *refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for len(d.wrong) > 0 && now.Sub(d.wrong[0]) > wrongSpan {
		d.wrong = d.wrong[1:]
	}
	if len(d.wrong) >= maxWrong {
		return "", refuseOften
	}
	var found *pass
	for _, p := range d.passes {
		if equal(p.code, code) {
			found = p
		}
	}
	switch {
	case found == nil:
		d.wrong = append(d.wrong, now)
		return "", refuseWrong
	case found.token != "":
		found.revoke(ErrRevoked)
		d.passes = slices.DeleteFunc(d.passes, func(p *pass) bool { return p == found })
		return "", refuseTwice
	case now.After(found.expires):
		return "", refuseLate
	}
	found.token = rand.Text() // at least 128 random bits
	return found.token, nil
}

// admit returns a context that lasts as long as a token is valid; false if it is not.
func (d *door) admit(token string) (valid context.Context, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.passes { // all of them: the time it takes says nothing
		if p.token != "" && equal(p.token, token) {
			valid, ok = p.valid, true
		}
	}
	return valid, ok
}

// redeemed reports whether any code was redeemed.
func (d *door) redeemed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.passes, func(p *pass) bool { return p.token != "" })
}

// equal compares in constant time.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
