package gateway

import (
	"net/http"
	"slices"

	"github.com/semel-dev/semel/formguard"
	"github.com/semel-dev/semel/semelhttp"
)

// noteOutcome remembers for the page what became of the form that this answers.
func (p *pageWriter) noteOutcome() {
	a := p.attempt
	for _, text := range a.refused { // so that the script does not send it again in a fresh form
		if name, ok := formguard.NameOf(text); ok {
			a.outcomes = addOutcome(a.outcomes, outcome{name, wordRefused, p.status})
		}
	}
	if a.name == "" || a.restored != "" {
		return
	}
	a.outcomes = addOutcome(a.outcomes, outcome{a.token.Name(), p.word(), p.status})
}

// word says what became of the form.
func (p *pageWriter) word() string {
	switch p.problem {
	case "in-flight":
		return wordInFlight
	case "outcome-unknown", "commit-unknown":
		return wordUnknown
	case "response-not-kept", "response-unreadable", "duplicate":
		return wordExecuted // it was, though nobody can say with what result
	}
	switch p.Header().Get(semelhttp.StatusHeader) {
	case "executed", "unprotected":
		return wordExecuted
	case "replayed":
		return wordReplayed
	case "unknown", "not-stored":
		return wordUnknown
	}
	return wordRefused
}

// tellsOfReplay reports whether the reader is to be told that a form had been sent
// before.
func (p *pageWriter) tellsOfReplay() bool {
	return p.status < http.StatusBadRequest && slices.ContainsFunc(p.attempt.outcomes, toTell)
}

// navigates reports whether the answer is one that a browser shows as a page, and
// not a piece of one that a script asked for.
func navigates(r *http.Request) bool {
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate"
	}
	return semelhttp.PrefersHTML(r)
}

// toTell reports whether nobody was told of the outcome yet.
func toTell(o outcome) bool { return o.word == wordReplayed && o.status < http.StatusBadRequest }

// setOutcomes sets the cookie with the outcomes, where there is news. What the page
// tells of was seen; a page that goes out while it is written will tell of it.
func (p *pageWriter) setOutcomes() {
	a := p.attempt
	news := (a.name != "" || len(a.refused) > 0) && a.restored == ""
	if p.noticed || p.mode == pageRewriting && p.tells && navigates(p.request) {
		for i := range a.outcomes {
			if toTell(a.outcomes[i]) {
				a.outcomes[i].word, news = wordSeen, true
			}
		}
	}
	if news {
		p.Header().Add("Set-Cookie", outcomeLine(a.outcomes, p.secure()))
	}
}
