package adminapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/operatorview"
	"github.com/semel-dev/semel/operator"
)

// The headers in which an operator says what the verdict is about.
const (
	headerETag    = "ETag"
	headerMatch   = "If-Match"
	headerNoMatch = "If-None-Match"
)

// etag names what a verdict can be about: an attempt, and where it stands. It is
// empty for a record that is gone.
func etag(rec *operatorview.Record) string {
	if rec.State == semel.StateReleased.String() {
		return ""
	}
	return fmt.Sprintf(`"%d-%s"`, rec.Fence, rec.State)
}

// look is what an operator saw before giving a verdict. The zero look is that of
// a request which says nothing.
type look struct {
	fence semel.Fence
	state semel.State
	none  bool // there was no record
}

// readLook reads what the request says of it. A verdict is about one record, so a
// list, a weak tag and "*" are refused: each could mean a record that its
// operator has never seen.
func (c *call) readLook(mayBeNone bool) (look, error) {
	match, noMatch := c.Header[headerMatch], c.Header[headerNoMatch]
	switch {
	case len(noMatch) > 0 && !mayBeNone:
		return look{}, badField(headerNoMatch, "this call has no use for %s; it is about a record that is there", headerNoMatch)
	case len(noMatch) > 0 && (len(noMatch) > 1 || len(match) > 0 || noMatch[0] != "*"):
		return look{}, badField(headerNoMatch, "%s is * alone, for an intent that has no record", headerNoMatch)
	case len(noMatch) > 0:
		return look{none: true}, nil
	case len(match) == 0:
		return look{}, nil
	}
	tag, ok := strings.CutPrefix(match[0], `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	digits, state, dash := strings.Cut(tag, "-")
	fence, err := strconv.ParseUint(digits, 10, 64)
	stands, known := operatorview.ParseState(state)
	if len(match) != 1 || !ok || !closed || !dash || !known || err != nil || fence == 0 {
		return look{}, badField(headerMatch, "%s holds one %s as this API gave it, with its quotation marks", headerMatch, headerETag)
	}
	return look{fence: semel.Fence(fence), state: stands}, nil
}

// seen returns the fence that the guard is to compare: that of a record which was
// seen as unknown, the only ones that a verdict settles. A look at a record in
// another state is answered here, because one that has become unknown since then
// was not seen so.
func (a *API) seen(ctx context.Context, c *call, digest semel.Digest, mayBeNone bool) (semel.Fence, error) {
	l, err := c.readLook(mayBeNone)
	if err != nil {
		return 0, err
	}
	c.look = l
	if l.none || l.fence == 0 || l.state == semel.StateUnknown {
		return l.fence, nil
	}
	rec, err := a.guard.Store().Lookup(ctx, digest)
	if err != nil {
		return 0, fmt.Errorf("look up record: %w", err)
	}
	refused := &semel.Error{Op: "verdict", Digest: digest, Record: &rec, Err: semel.ErrSettled}
	switch {
	case rec.State == semel.StateCancelled:
		return l.fence, nil // the guard answers that it is cancelled already
	case rec.Fence != l.fence || operator.State(&rec) != l.state:
		refused.Err = semel.ErrChanged
	case l.state == semel.StateClaimed:
		refused.Err, refused.RetryAfter = semel.ErrInFlight, rec.LeaseLeft()
	}
	return 0, refused
}

// changed refuses a verdict on another record than the present one, and shows
// that.
func (a *API) changed(c *call, rec *semel.Record) *refusal {
	view := a.view(new(*rec))
	refused := refuse(http.StatusPreconditionFailed, "changed", "The record is not the one you looked at",
		"Nothing was done. Another attempt has begun since you looked, or the record has been settled. \"record\" is the present one: find out what happened there, then decide again with \"etag\" in If-Match.")
	if c.look == (look{}) {
		refused = refuse(http.StatusPreconditionRequired, "precondition-required", "Say which record you looked at",
			"Nothing was done. A retry may begin at any time, so a verdict names the record that its operator saw: look at \"record\", find out what happened, then send \"etag\" in If-Match.")
	}
	refused.Extra = map[string]any{"record": view, "etag": etag(&view)}
	return refused
}
