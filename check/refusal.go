package check

import (
	"context"
	"errors"
	"mime"

	"github.com/semel-dev/semel/check/webform"
	"github.com/semel-dev/semel/check/wire"
)

func refusals() []Check {
	return []Check{
		row("ERR-01", LevelMust, byCount, "A refused request that is sent again unchanged is refused again, and has no effect.",
			"draft -07 §2.7", "Store the refusal, or judge the request anew; never treat a record without an answer as a success.",
			sends(2), canBeBroken, withIntent(refusedAgain)),
		row("ERR-02", LevelMust, byCount, "A refused request that is corrected, under the same key, is refused, or executed once.",
			"draft -07 §2.7; Semel promise 6",
			"Release the key of a refused request, or refuse the corrected one; a success has to have an effect.", sends(2), canBeBroken,
			withIntent(correctedIsHonest)),
		row("ERR-05", LevelMust, byCount, "A refusal for missing credentials is not remembered: with credentials, the same key is executed.",
			"Semel promise 5; RFC 9110 §15.5.2",
			"Authenticate the caller before the key is claimed, or release the key after 401 and 403.", sends(1+settledTries), always,
			withIntent(loginIsEnough)),
	}
}

func canBeBroken(c *Config) string {
	return unless(c.Invalid != nil || len(c.Template.Body) >= 2,
		"the request has no body that could be made invalid, and no invalid request was given")
}

// broken renders an attempt of the intent that the service should refuse.
func (p *probe) broken(in *intent) (*wire.Request, error) {
	config := p.run.config
	if config.Invalid != nil {
		return p.requestOf(config.Invalid, in)
	}
	if in.draft != nil {
		return p.emptied(in)
	}
	t := config.Template
	switch config.Key.In {
	case keyInJSON: // it has to remain an object that has the key
		t.Body = []byte("{}")
	case keyInForm:
		t.Body = nil
	case keyInHeader, keyInQuery, keyInTemplate, keyNowhere:
		t.Body = t.Body[:len(t.Body)/2]
	}
	return p.requestOf(&t, in)
}

// errNotEmptied reports a page's form that only the user can make invalid.
var errNotEmptied = errors.New("no field of the form can be left empty: give a request that is refused, such as with --invalid")

// emptied returns a page's form in which nothing was typed. Its hidden fields, its button and its key are kept, so that
// it is refused for what the person left out.
func (p *probe) emptied(in *intent) (*wire.Request, error) {
	r, err := p.request(in)
	if err != nil {
		return nil, err
	}
	contentType := r.Value("Content-Type")
	fields, err := webform.ParseBody(contentType, r.Body)
	if err != nil { // a form of text/plain
		return nil, errNotEmptied
	}
	kept := map[string]bool{}
	for _, f := range in.draft.form.Fields {
		kept[f.Name] = kept[f.Name] || f.Kind == webform.Hidden || f.Kind == webform.Submit
	}
	if p.run.config.Key.In == keyInForm {
		kept[p.run.config.Key.Name] = true
	}
	changed := false
	for i := range fields {
		f := &fields[i]
		if kept[f.Name] || f.Value == "" && f.File == nil {
			continue
		}
		if f.Value, changed = "", true; f.File != nil {
			f.File = &webform.File{}
		}
	}
	if !changed {
		return nil, errNotEmptied
	}
	media, parameters, _ := mime.ParseMediaType(contentType)
	_, r.Body = webform.Encode(media, parameters["boundary"], fields)
	return r, nil
}

// refuse sends a request that should be refused. If it is not ok, there is nothing to judge.
func (p *probe) refuse(ctx context.Context, in *intent) (reply, finding) {
	r, err := p.broken(in)
	switch {
	case errors.Is(err, errNotEmptied):
		return reply{}, skipped("%v", err)
	case err != nil:
		return reply{}, incomplete("%v", err)
	}
	got := p.deliver(ctx, "invalid", in, r, &wire.Manner{})
	switch {
	case got.failure() && in.draft != nil && p.run.config.Invalid == nil:
		return got, skipped("the form with empty fields is answered %s, and not refused: give a request that is refused, such as with --invalid", got)
	case !got.answered():
		return got, incomplete("the invalid request got %s", got)
	case got.fine():
		return got, skipped("what should be invalid is answered %s: give an invalid request", got)
	case got.Status >= 500:
		return got, incomplete("the invalid request is not refused, but answered %s: give another one", got)
	}
	return got, passed()
}

func refusedAgain(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	first, f := p.refuse(ctx, in)
	if !f.ok() {
		return f
	}
	r, err := p.broken(in)
	if err != nil {
		return incomplete("%v", err)
	}
	again := p.deliver(ctx, "invalid again", in, r, &wire.Manner{})
	switch {
	case !again.answered():
		return failed("refused by %s at first, and then there was %s", first, again)
	case again.Status < 400 || again.Status >= 500:
		return failed("refused by %s at first, and then answered %s", first, again)
	}
	return p.effects(ctx, since, 0, 0, in)
}

func correctedIsHonest(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	first, f := p.refuse(ctx, in)
	if !f.ok() {
		return f
	}
	corrected := p.send(ctx, "corrected", in)
	switch {
	case !corrected.answered(), corrected.Status >= 500:
		return failed("refused by %s at first; corrected, the request was answered %s", first, corrected).blaming(corrected)
	case corrected.fine():
		f = p.once(ctx, since, in)
	default:
		f = p.effects(ctx, since, 0, 0, in)
	}
	if f.verdict == Fail {
		f.reason = "the corrected request was answered " + corrected.String() + ", and had " + f.reason
	}
	return f
}

func loginIsEnough(ctx context.Context, p *probe, in *intent) finding {
	out, differs := p.out(in)
	if !differs {
		return skipped("no header of the request identifies the caller")
	}
	since := p.before(ctx)
	refused := p.send(ctx, "logged out", out)
	switch {
	case !refused.answered(), refused.Status >= 500:
		return incomplete("logged out, the request was answered %s", refused)
	case refused.Status < 300:
		return skipped("the service asks for no credentials: %s", refused)
	case refused.Status < 400 && p.effects(ctx, since, 0, 0, in).verdict == Fail: // it did not redirect to the log-in
		return skipped("the service asks for no credentials: %s, with an effect", refused)
	}
	if got := p.untilSettled(ctx, "logged in", in); !got.fine() {
		return failed("refused by %s at first, and with credentials by %s", refused, got).blaming(got)
	}
	return p.once(ctx, since, in)
}
