package zoo

import (
	"net/http"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// scopeAnimals mix up whose key it is.
func scopeAnimals() []Animal {
	return []Animal{
		{
			Name:   "keys belong to nobody",
			Says:   "The key alone is looked up: whoever guesses, reads or repeats another one's key gets that one's answer.",
			Caught: []string{"SCOPE-01", "SCOPE-02", "SCOPE-05"},
			Setup:  habitat{outside: Members, decisions: unscoped, change: TwoMembers}.home,
		},
		{
			Name:   "another one's key is taken",
			Says:   "The caller is a part of the fingerprint and not of the scope: two clients with one key refuse each other.",
			Caught: []string{"SCOPE-02", "SCOPE-05"},
			Setup: habitat{outside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Fingerprint = func(r *http.Request, body []byte) string {
					return Fingerprint(r, body) + r.Header.Get("Authorization")
				}
			}}.home,
		},
		{
			Name:   "replays before rights",
			Says:   "The layer stands outside of the log-in, so that a stored answer is given to whoever asks.",
			Caught: []string{"SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05"},
			Setup:  habitat{inside: Members, decisions: unscoped, change: TwoMembers}.home,
		},
		{
			Name:   "401 is remembered",
			Says:   "All 4xx are stored alike: the client that logs in again, and retries, is refused for ever.",
			Caught: []string{"ERR-05", "SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05"},
			Setup: habitat{inside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Keeps = func(a *Answer) bool { return a.Status < http.StatusInternalServerError }
			}}.home,
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
