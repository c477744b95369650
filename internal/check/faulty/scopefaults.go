package faulty

import (
	"net/http"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/check/wire"
)

// scopeFaults mix up whose key it is.
func scopeFaults() []Service {
	return []Service{
		{
			Name:   "keys belong to nobody",
			Says:   "The key alone is looked up: whoever guesses, reads or repeats another one's key gets that one's answer.",
			Caught: []string{"SCOPE-01", "SCOPE-02", "SCOPE-05"},
			Start:  recipe{outside: Members, decisions: unscoped, change: TwoMembers}.start,
		},
		{
			Name:   "keys belong to nobody, before a list",
			Says:   "The key alone is looked up, and all answers are 303 to the page of a list: a stranger's order is not made, and looks as if it were.",
			Caught: []string{"SCOPE-01", "SCOPE-02", "SCOPE-05"},
			Start:  recipe{behaviour: Behaviour{Lists: true}, outside: Members, decisions: unscoped, change: byMembersForm}.start,
		},
		{
			Name:   "another one's key is taken",
			Says:   "The caller is a part of the fingerprint and not of the scope: two clients with one key refuse each other.",
			Caught: []string{"SCOPE-02", "SCOPE-05"},
			Start: recipe{outside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Fingerprint = func(r *http.Request, body []byte) string {
					return Fingerprint(r, body) + r.Header.Get("Authorization")
				}
			}}.start,
		},
		{
			Name:   "replays before rights",
			Says:   "The layer stands outside of the log-in, so that a stored answer is given to whoever asks.",
			Caught: []string{"SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05"},
			Start:  recipe{inside: Members, decisions: unscoped, change: TwoMembers}.start,
		},
		{
			Name:   "401 is remembered",
			Says:   "All 4xx are stored alike: the client that logs in again, and retries, is refused for ever.",
			Caught: []string{"ERR-05", "SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05"},
			Start: recipe{inside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Keeps = func(a *Answer) bool { return a.Status < http.StatusInternalServerError }
			}}.start,
		},
	}
}

// unscoped takes all callers for one.
func unscoped(d *Decisions) { d.Scope = func(*http.Request) string { return "" } }

// TwoMembers has the shop's two members, whose tokens are asked for.
func TwoMembers(c *check.Config) {
	c.User = &check.User{Header: []wire.Field{{Name: "Authorization", Value: tokenOfAnn}}}
	c.Other = &check.User{Header: []wire.Field{{Name: "Authorization", Value: tokenOfBob}}}
}
