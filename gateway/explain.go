package gateway

import (
	"net/http"

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
		for n, candidate := range at.routes {
			m := &candidate.rule.Match
			c := forms.Candidate{Route: candidate.rule.Name, Pattern: r.Method + " " + m.Host + m.Path, Verdict: forms.Meets}
			v := f.judge(n)
			for _, i := range at.of[n] {
				switch one := f.verdict(i); {
				case one == unclear && at.conditions[i].In == "query":
					c.Verdict = forms.Ambiguous
				case one == unclear && v != fails && c.Verdict != forms.Ambiguous:
					c.Verdict = forms.May
				}
				if f.verdict(i) == v {
					c.Why = append(c.Why, at.conditions[i].String())
				}
			}
			if v == fails {
				c.Verdict = forms.MeetsNot
			}
			if all = append(all, c); v == holds {
				return all
			}
		}
	}
	return append(all, forms.Candidate{Route: rt.fallback.rule.Name, Verdict: forms.Meets})
}
