package check

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/check/internal/place"
	"github.com/semel-dev/semel/check/webform"
	"github.com/semel-dev/semel/check/wire"
)

func sizes() []Check {
	const (
		content = "Compare what was sent, and not how: framing, transfer encoding and pace are not part of a request's content."
		all     = "Include the whole body in the fingerprint, however long it is, or refuse longer bodies."
	)
	return []Check{
		row("SIZE-01", LevelMust, byCount, "An empty body with a key, sent twice, has at most one effect.",
			"draft -07 §2.6; Semel promise 2", "Use the key whether or not there is a body.", sends(2), keyOutsideBody,
			withIntent(emptyTwice)),
		row("SIZE-02", LevelMust, byCount, "A request that is sent with Content-Length, and again in chunks, has one effect and one answer.",
			"RFC 9112 §6; Semel promise 2", content, sends(2), always, withAttempt(againInChunks)),
		row("SIZE-03", LevelShould, byCount, "A request with Expect: 100-continue, sent twice, has one effect and one answer.",
			"RFC 9110 §10.1.1; Semel promise 2", "Read the body after checking the key; a refusal may come without it.", sends(2), hasBody,
			expectsTwice),
		row("SIZE-04", LevelMust, byCount, "A compressed request, sent twice, has one effect and one answer.",
			"RFC 9110 §8.4; Semel promise 2", content, sends(2), hasPlainBody, gzippedTwice),
		row("SIZE-05", LevelMust, byCount, "A body of 1 MiB, sent twice, has one effect and one answer, or is refused both times.",
			"draft -07 §2.6; Semel promises 2 and 8",
			"Refuse a body that is too large for the fingerprint; never execute it without protection.", sends(2), hasBody,
			withIntent(largeTwice)),
		row("SIZE-06", LevelShould, byCount, "A request whose body comes in slow pieces is executed once, and replayed.",
			"draft -07 §2.6; Semel promise 2", content, sends(1+settledTries), hasBody, withIntent(slowThenAgain)),
		row("SIZE-07", LevelMust, byCount, "Large bodies that differ only at their end are not the same request.",
			"draft -07 §2.4; Semel promise 6", all, sends(2*len(largeSizes())), endsMayDiffer, largeEndsDiffer),
	}
}

// largeBytes is the padding of a large body. It exceeds any buffer that a service is likely to have for a body.
const largeBytes = 1 << 20

// largeSizes returns the paddings to try until the service accepts one. Many refuse more than 100 kB.
func largeSizes() []int { return []int{largeBytes, 80 << 10} }

func hasBody(c *Config) string {
	return unless(len(c.Template.Body) >= 2, "the request has no body")
}

// hasPlainBody requires a body that can be compressed, which browsers do not do to forms.
func hasPlainBody(c *Config) string {
	return cmp.Or(
		unless(!c.Profile.Browser, "browsers do not compress forms"),
		unless(!(&wire.Request{Header: c.Template.Header}).Has("Content-Encoding"), "the request is encoded already"),
		hasBody(c),
	)
}

// keyOutsideBody requires a key outside the body, for checks that replace the body.
func keyOutsideBody(c *Config) string {
	in := place.Names(string(c.Template.Body))
	switch {
	case c.Key.In == keyInJSON, c.Key.In == keyInForm, slices.Contains(in, "key"), slices.Contains(in, "minted"):
		return "the key is in the body"
	}
	return wantsKey(c)
}

// endsMayDiffer requires a body that differs between intents, under a key for which it must not differ.
func endsMayDiffer(c *Config) string {
	in := place.Names(string(c.Template.Body))
	switch {
	case c.Profile.MismatchIgnored:
		return "the profile compares keys only"
	case !slices.Contains(in, "n") && !slices.Contains(in, "uuid"):
		return "the body is the same for every intent: put {{n}} or {{uuid}} into it"
	}
	return ""
}

// emptyTwice sends no body at all, which most services refuse.
func emptyTwice(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	first := p.send(ctx, "empty", in, withBody(nil))
	again := p.send(ctx, "empty again", in, withBody(nil))
	if !first.fine() && !again.fine() {
		if f := p.effects(ctx, since, 0, 1, in); !f.ok() {
			return f
		}
		return passedBut("an empty body is answered %s", first)
	}
	f := p.once(ctx, since, in)
	if f.verdict != Fail || !p.effects(ctx, since, 0, 0, in).ok() {
		return f
	}
	if seesAll(p.run.config.Counters) {
		return passedBut("an empty body is answered %s, and has no effect", first)
	}
	return incomplete("the empty body is answered %s, but the counters depend on values that were in the body", first)
}

func againInChunks(ctx context.Context, p *probe, a attempt) finding {
	again := p.sendIn(ctx, "in chunks", wire.Manner{Chunked: true}, a.in)
	if f := p.once(ctx, a.since, a.in); !f.ok() {
		return f
	}
	switch f := p.rightRepeat(a.first, again); {
	case f.ok():
		return passed()
	case again.fine():
		return f.differing("the repetition in chunks got another answer: ")
	case again.in(http.StatusBadRequest, http.StatusLengthRequired, http.StatusRequestEntityTooLarge, http.StatusNotImplemented):
		return passedBut("bodies in chunks are answered %s", again)
	case again.in(p.run.config.Profile.Mismatch...):
		return p.refusedAsBefore(failed("the same request in chunks is treated as another one: it is answered %s", again).blaming(again), again)
	}
	return passedBut("the repetition in chunks is answered %s", again)
}

func expectsTwice(ctx context.Context, p *probe) finding {
	first, f := p.twice(ctx, wire.Manner{Expect: true})
	if first.in(http.StatusExpectationFailed) {
		return skipped("the service refuses Expect: 100-continue")
	}
	return f
}

// gzippedTwice compresses the body. A service that ignores Content-Encoding treats it as plain bytes, and must not
// execute those twice either.
func gzippedTwice(ctx context.Context, p *probe) finding {
	first, f := p.twice(ctx, wire.Manner{}, gzipped)
	if first.answered() && !first.fine() {
		return skipped("a compressed body is answered %s", first)
	}
	return f
}

// gzipped compresses the body, to the same bytes each time.
func gzipped(r *wire.Request) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(r.Body) // to memory: never fails
	_ = w.Close()
	r.Body = b.Bytes()
	r.Set("Content-Encoding", "gzip")
}

// twice sends an intent twice in one manner, and expects one effect and the profile's answer to a repetition. The first
// reply lets the caller excuse a failure.
func (p *probe) twice(ctx context.Context, m wire.Manner, changes ...change) (first reply, f finding) {
	in, err := p.intent(ctx)
	if err != nil {
		return reply{err: err}, incomplete("%v", err)
	}
	since := p.before(ctx)
	first = p.sendIn(ctx, "first", m, in, changes...)
	if !first.fine() {
		return first, incomplete("the first attempt is answered %s, whatever the key may be", first)
	}
	again := p.sendIn(ctx, "again", m, in, changes...)
	if f := again.judged(); !f.ok() {
		return first, f
	}
	if f := p.once(ctx, since, in); !f.ok() {
		return first, f
	}
	return first, p.rightRepeat(first, again)
}

// largeTwice judges by effects alone if the body is refused: each service has its own limit and its own refusal, and
// some close the connection.
func largeTwice(ctx context.Context, p *probe, in *intent) finding {
	large, err := p.padding(in, largeBytes)
	if err != nil {
		return incomplete("%v", err)
	}
	if large == nil {
		return skipped("only JSON and forms can be made larger without changing their meaning")
	}
	since := p.before(ctx)
	first := p.send(ctx, "large", in, large)
	again := p.send(ctx, "large again", in, large)
	if !first.fine() && !again.fine() {
		if f := p.effects(ctx, since, 0, 0, in); !f.ok() {
			return f
		}
		return passedBut("a body of 1 MiB is answered %s", first)
	}
	if f := p.once(ctx, since, in); !f.ok() {
		return f
	}
	if !first.fine() {
		return passed()
	}
	return p.rightRepeat(first, again)
}

// padding enlarges the body at its beginning, so that everything that distinguishes two intents comes after the
// padding. It returns nil if the body cannot be padded.
func (p *probe) padding(in *intent, n int) (change, error) {
	r, err := p.request(in)
	if err != nil {
		return nil, err
	}
	body := bytes.TrimSpace(r.Body)
	form := strings.HasPrefix(strings.ToLower(r.Value("Content-Type")), webform.URLEncoded)
	switch {
	case len(body) > 1 && (body[0] == '{' || body[0] == '[') && json.Valid(body):
		body = slices.Concat(body[:1], bytes.Repeat([]byte(" "), n), body[1:])
	case form:
		body = slices.Concat([]byte("semel_padding="), bytes.Repeat([]byte("x"), n), []byte("&"), body)
	default:
		return nil, nil
	}
	return withBody(body), nil
}

func slowThenAgain(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	slow := p.sendIn(ctx, "slow", wire.Manner{Pieces: slowPieces, Pause: slowPause}, in)
	again := p.untilSettled(ctx, "again", in)
	if f := p.executedOnce(ctx, since, in, again); !f.ok() {
		return f
	}
	if slow.in(http.StatusRequestTimeout) {
		return passedBut("slow bodies are answered %s", slow)
	}
	if f := slow.judged(); !f.ok() {
		return f
	}
	return p.rightRepeat(slow, again)
}

// largeEndsDiffer sends, under one key, two bodies that are alike for a long way.
func largeEndsDiffer(ctx context.Context, p *probe) finding {
	var refusal reply
	for _, n := range largeSizes() {
		both, err := p.intents(ctx, 2)
		if err != nil {
			return incomplete("%v", err)
		}
		one, other := both[0], under(both[0], both[1])
		pad, err := p.padding(one, n)
		if err != nil {
			return incomplete("%v", err)
		}
		padOther, err := p.padding(other, n)
		if err != nil {
			return incomplete("%v", err)
		}
		if pad == nil || padOther == nil {
			return skipped("only JSON and forms can be made larger without changing their meaning")
		}
		since := p.before(ctx)
		first := p.send(ctx, "large", one, pad)
		if !first.fine() {
			refusal = first
			continue
		}
		if f := p.once(ctx, since, one); !f.ok() {
			return f
		}
		since = p.before(ctx, other)
		return p.isAnother(ctx, since, other, p.send(ctx, "large, with another end", other, padOther))
	}
	return skipped("large bodies are answered %s", refusal)
}

// under returns an intent with the values of one and the key, or the page, of the other.
func under(key, values *intent) *intent {
	mixed := *values
	mixed.key, mixed.draft, mixed.cookies, mixed.values = key.key, key.draft, key.cookies, maps.Clone(values.values)
	for _, name := range []string{"key", "minted"} {
		if value, ok := key.values[name]; ok {
			mixed.values[name] = value
		}
	}
	return &mixed
}

// isAnother judges the reply to another request under a known key: it must be refused or, if the profile says so, be an
// intent of its own.
func (p *probe) isAnother(ctx context.Context, since tally, other *intent, got reply) finding {
	if p.run.config.Profile.MismatchNew {
		f := p.once(ctx, since, other)
		if f.ok() && !got.fine() {
			return failed("the other request was executed, but is answered %s", got)
		}
		return f
	}
	if p.replaces(got) {
		return skipped("a PUT with another body replaces the existing resource (%s)", got)
	}
	switch f := p.effects(ctx, since, 0, 0, other); {
	case f.verdict == Fail:
		return f.because("the other request was executed under the same key: %s", f.reason)
	case !f.ok():
		return f
	case got.fine():
		return failed("the other request was not executed, but is answered %s", got)
	}
	return passed()
}
