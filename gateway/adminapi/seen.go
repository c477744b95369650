package adminapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
	"github.com/semel-dev/semel/operator"
)

// The headers that name the record of a verdict.
const (
	headerETag    = "ETag"
	headerMatch   = "If-Match"
	headerNoMatch = "If-None-Match"
)

// etag names an attempt and its state, which a verdict is about. It is empty for
// a record that is gone.
func etag(rec *operatorview.Record) string {
	if rec.State == semel.StateReleased.String() {
		return ""
	}
	return fmt.Sprintf(`"%d-%s"`, rec.Fence, rec.State)
}

// look is the record that an operator saw before giving a verdict. The zero look
// means that the request names none.
type look struct {
	fence semel.Fence
	state semel.State
	none  bool // no record existed
}

// readLook reads the look from the request. A verdict is about one record, so a
// list, a weak tag and "*" are refused: each could mean a record that the
// operator never saw.
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

// seen returns the fence for the guard to compare. A verdict settles only records
// that were seen as unknown; a look at a record in another state is answered
// here, even if the record has become unknown since.
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
	case rec.Fence != l.fence || operator.State(&rec) != l.state && (!done(rec.State) || !done(l.state)):
		refused.Err = semel.ErrChanged
	case l.state == semel.StateClaimed:
		refused.Err, refused.RetryAfter = semel.ErrInFlight, rec.LeaseLeft()
	}
	return 0, refused
}

// done reports whether a store keeps a record that is shown in this state as completed.
func done(shown semel.State) bool {
	return shown == semel.StateCompleted || shown == semel.StateFailed || shown == semel.StateUnreadable
}

// changed refuses a verdict on a record that is not the present one, and shows
// the present one.
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
