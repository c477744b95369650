package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/semel-dev/semel/gateway/internal/forms"
)

// Candidate is a route whose method, host and path are those of a request, with what its conditions say of that.
type Candidate = forms.Candidate

// Explain lists the routes of the request's method, host and path in the order in which they are tried, up to the first that it meets
// for sure, with the conditions that decide. Header and body count as unknown. refused is the gateway's reason to refuse it, or "".
func (g *Gateway) Explain(r *http.Request) (all []Candidate, refused string) {
	all = g.router.explain(r, func(f *facts) {
		for _, place := range []string{"header", "form", "json"} {
			f.doubt(place)
		}
	})
	if last, rule := &all[len(all)-1], &g.router.fallback.rule; last.Pattern == "" { // what no rule takes
		last.Pattern = strings.Join(rule.Match.Methods, ", ") + " with a key"
		if !slices.Contains(rule.Match.Methods, r.Method) {
			last.Verdict = forms.MeetsNot
		}
	}
	for _, rt := range g.router.possible(r, nil) {
		if reason := g.router.lenient.slips(r, rt); reason != "" {
			return all, reason
		}
	}
	return all, ""
}

// explain gives the reasons of possible.
func (rt *router) explain(r *http.Request, unknown func(*facts)) (all []forms.Candidate) {
	for at := rt.group(r); at != nil; at = rt.below(r, at) {
		f := at.factsOf(r)
		unknown(f)
		for n := range at.routes {
			c := f.candidate(n, r.Method)
			all = append(all, c)
			if f.judge(n) == holds || c.Verdict == forms.Ambiguous {
				return all
			}
		}
	}
	return append(all, forms.Candidate{Route: rt.fallback.rule.Name, Verdict: forms.Meets})
}

// candidate describes a route, with the conditions that decide or are all met. Of what is unclear, only the query is known.
func (f *facts) candidate(n int, method string) forms.Candidate {
	rule, judged := &f.group.routes[n].rule, f.judge(n)
	c := forms.Candidate{Route: rule.Name, Pattern: method + " " + rule.Match.Host + rule.Match.Path, Verdict: forms.Meets}
	switch judged {
	case fails:
		c.Verdict = forms.MeetsNot
	case unclear:
		c.Verdict = forms.Ambiguous
	case unread, holds:
	}
	for _, i := range f.group.of[n] {
		condition := &f.group.conditions[i]
		if f.verdict(i) != judged {
			continue
		}
		c.Why = append(c.Why, condition.String())
		if judged == unclear && condition.In != "query" {
			c.Verdict = forms.May
		}
	}
	return c
}
