package check

import (
	"context"
	"fmt"
	"slices"

	"github.com/semel-dev/semel/check/wire"
)

// forms returns the checks of a page's form, as a person with a browser uses it.
func forms() []Check {
	return []Check{
		row("FORM-01", LevelMust, byCount, "A double click, and one more click later, have one effect.",
			"Semel promise 2; docs/forms.md",
			"Give every page a token of its own in a hidden field, and let token and content together be the key of the intent.", sends(3),
			wantsBrowser, withIntent(submitsOnce)),
		row("FORM-02", LevelMust, byAnswer, "A form that is sent twice leads to the same place both times.",
			"Semel promise 2; docs/forms.md", "Answer the repetition from the record of the first: the person sees only the last answer.",
			sends(2), wantsBrowser, pair(leadsToOnePlace)),
		row("FORM-03", LevelMust, byCount, "A form that the browser resends on its own, because its connection was lost, has one effect.",
			"RFC 9110 §9.2.2; RFC 9112 §9.3.1; docs/forms.md",
			"Buttons that lock and scripts do not stop this: browsers send the same bytes again without asking the page. The server has to know the intent.",
			sends(3), wantsBrowser, withIntent(resendsOnce)),
		row("FORM-04", LevelMust, byCount, "Going back, changing a value in the same page and sending it is a new intent, and is carried out.",
			"docs/forms.md", "Make the content of the form a part of the key: there are good reasons to send a page's token twice.",
			sends(2), wantsBrowser, withAttempt(executesEdited)),
		row("FORM-05", LevelMust, byCount, "Two open pages with different contents are two intents.",
			"docs/forms.md", "Do not keep one token for each session: every page that is shown needs its own.", sends(2), wantsBrowser,
			executesBothTabs),
		row("FORM-06", LevelMust, byAnswer, "A person who sent a form twice sees no error.",
			"Semel promise 2; docs/forms.md",
			"Do not let the repetition run into a unique column or a used-up token: the first was carried out, and the person has to see that.",
			sends(2), wantsBrowser, pair(showsNoError)),
	}
}

func wantsBrowser(c *Config) string {
	return unless(c.Profile.Browser, "the profile is not for a page's form")
}

func submitsOnce(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	clicks := p.together(2, func(i int) reply { return p.send(ctx, fmt.Sprintf("click %d", i+1), in) })
	return p.onceIfAny(ctx, since, in, append(clicks, p.send(ctx, "a click later", in)))
}

func resendsOnce(ctx context.Context, p *probe, in *intent) finding {
	since := p.before(ctx)
	p.sendIn(ctx, "sent, and the connection closed", wire.Manner{Fault: wire.HangUp}, in)
	p.sendIn(ctx, "resent, and the answer lost", wire.Manner{Fault: wire.LoseAnswer}, in)
	return p.onceIfAny(ctx, since, in, []reply{p.send(ctx, "resent", in)})
}

// onceIfAny is once, but incomplete if no attempt had an effect or claimed one: then nothing shows what repeating does.
func (p *probe) onceIfAny(ctx context.Context, since tally, in *intent, attempts []reply) finding {
	f := p.once(ctx, since, in)
	if f.verdict != Fail || slices.ContainsFunc(attempts, reply.fine) {
		return f
	}
	if p.effects(ctx, since, 0, 0, in).ok() {
		return incomplete("no attempt succeeded: the last was answered %s", attempts[len(attempts)-1])
	}
	return f
}

func leadsToOnePlace(p *probe, first, again reply) finding {
	there, then := first.location(), again.location()
	switch {
	case there != then:
		return failed("the first was %s%s, the repetition %s%s", first, leading(there), again, leading(then)).blaming(again)
	case there != "":
		return passed()
	}
	if difference := p.sameAnswer(first, again); difference != "" {
		return failed("the repetition shows something else: %s", difference)
	}
	return passed()
}

// location returns the place that a browser goes to after the answer; empty if it stays.
func (r reply) location() string {
	if !r.answered() || r.Status < 300 || r.Status >= 400 {
		return ""
	}
	return r.Header.Get("Location")
}

func leading(place string) string {
	if place == "" {
		return ", which leads nowhere"
	}
	return " to " + quote(place, "Location").String()
}

func showsNoError(_ *probe, first, again reply) finding {
	if first.Status/100 != again.Status/100 {
		return failed("the first was answered %s, the repetition %s", first, again).blaming(again)
	}
	return passed()
}

func executesEdited(ctx context.Context, p *probe, a attempt) finding {
	other, err := p.edit(ctx, a.in)
	if err != nil {
		return incomplete("%v", err)
	}
	if f := p.once(ctx, a.since, a.in); !f.ok() {
		return incomplete("the first: %s", f.reason)
	}
	since := p.before(ctx, other.in) // which may have values of the first
	edited := p.send(ctx, "edited", other.in, other.changes...)
	refused := !edited.fine() || edited.Status/100 != a.first.Status/100
	if refused && other.invented != "" {
		return incomplete("with %s the form was answered %s: write {{n}} into a field that may differ", other.invented, edited)
	}
	if !edited.fine() {
		return failed("the edited form was answered %s", edited).blaming(edited)
	}
	return p.once(ctx, since, other.in)
}

func executesBothTabs(ctx context.Context, p *probe) finding {
	tabs, err := p.intents(ctx, 2)
	if err != nil {
		return incomplete("%v", err)
	}
	var second edit
	if second.in = tabs[1]; !p.run.config.Template.Varies() {
		if second, err = p.edit(ctx, tabs[1]); err != nil {
			return incomplete("%v", err)
		}
	}
	since := p.before(ctx)
	left := p.send(ctx, "the first page", p.later(tabs[0]))
	right := p.send(ctx, "the second page", p.later(second.in), second.changes...)
	switch {
	case !left.fine() && !right.fine():
		return incomplete("both were refused: %s and %s", left, right)
	case !left.fine():
		return failed("the form of the page that was opened first was answered %s", left).blaming(left)
	case !right.fine() && second.invented != "":
		return incomplete("with %s the form was answered %s: write {{n}} into a field that may differ", second.invented, right)
	case !right.fine():
		return failed("the form of the page that was opened second was answered %s", right).blaming(right)
	}
	return p.effects(ctx, since, 2, 2, tabs[0], second.in)
}
