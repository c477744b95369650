package forms

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/outcomecookie"
	"github.com/semel-dev/semel/internal/refusal"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/semelhttp"
)

// noteOutcome remembers the outcome of the form that this answers, for the page.
func (p *pageWriter) noteOutcome() {
	a := p.attempt
	for _, text := range a.refused { // so that the script does not send it again in a fresh form
		if name, ok := formguard.NameOf(text); ok {
			a.outcomes = outcomecookie.Add(a.outcomes, outcomecookie.Outcome{ID: name, Word: outcomecookie.Refused, Status: p.status})
		}
	}
	if a.name == "" || a.restored != "" {
		return
	}
	word := outcomecookie.WordOf(p.problem, p.Header().Get(semelhttp.StatusHeader))
	a.outcomes = outcomecookie.Add(a.outcomes, outcomecookie.Outcome{ID: a.token.Name(), Word: word, Status: p.status, Words: wordsID(p.found.Rule)})
}

// wordsID names a rule that has words of its own for the notice of the page that
// follows, "" for one without.
func wordsID(rule *rules.Route) string {
	if len(rule.Form.Texts.Duplicate) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(rule.Name))
	return hex.EncodeToString(sum[:8])
}

// notice returns the notice in the language of the page, or of its reader, and in the
// words of the rule whose form had been sent before.
func (p *pageWriter) notice() notice {
	n := noticeFor(p.language(), p.request.Header["Accept-Language"])
	told := slices.IndexFunc(p.attempt.outcomes, toTell)
	if told < 0 || p.attempt.outcomes[told].Words == "" {
		return n
	}
	for i := range p.forms.config.Rules {
		if rule := &p.forms.config.Rules[i]; rule.Form != nil && wordsID(rule) == p.attempt.outcomes[told].Words {
			return n.inWords(rule.Form.Texts.Duplicate)
		}
	}
	return n
}

// tellsOfReplay reports whether the reader is to be told that a form had been sent
// before. A browser shows no body of a redirect, and may never show what it loads
// ahead: the page that follows tells.
func (p *pageWriter) tellsOfReplay() bool {
	return p.status < http.StatusMultipleChoices && !loadsAhead(p.request) && slices.ContainsFunc(p.attempt.outcomes, toTell)
}

// loadsAhead reports whether a browser prefetches the page, which it may never show.
func loadsAhead(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Moz"} {
		if strings.HasPrefix(r.Header.Get(name), "prefetch") {
			return true
		}
	}
	return false
}

// navigates reports whether the answer is one that a browser shows as a page, and
// not a piece of one that a script asked for.
func navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return refusal.PrefersHTML(r)
}

// toTell reports whether a page still has to show the outcome to the reader.
func toTell(o outcomecookie.Outcome) bool {
	return o.Word == outcomecookie.Replayed && o.Status < http.StatusBadRequest
}

// setOutcomes sets the cookie with the outcomes, where there is news. An outcome
// in the page has been seen; a page that is sent while it is written will show it.
func (p *pageWriter) setOutcomes() {
	a := p.attempt
	news := (a.name != "" || len(a.refused) > 0) && a.restored == ""
	if p.noticed || p.mode == pageRewriting && p.tells && navigates(p.request) {
		for i := range a.outcomes {
			if toTell(a.outcomes[i]) {
				a.outcomes[i].Word, news = outcomecookie.Seen, true
			}
		}
	}
	if news {
		p.Header().Add("Set-Cookie", outcomecookie.Line(a.outcomes, p.secure()))
	}
}
