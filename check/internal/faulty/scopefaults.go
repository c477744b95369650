package faulty

import (
	"net/http"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// scopeFaults confuse the owners of keys.
func scopeFaults() []Service {
	return []Service{
		fault("keys have no owner", "The key alone is looked up: a caller that guesses, reads or repeats another caller's key gets its answer.",
			by("SCOPE-01", "SCOPE-02", "SCOPE-05"), recipe{outside: Members, decisions: unscoped, change: TwoMembers}.start),
		fault("keys have no owner, before a list", "The key alone is looked up, and all answers are 303 to the page of a list: another caller's order is not made, but looks as if it were.",
			by("SCOPE-01", "SCOPE-02", "SCOPE-05"),
			recipe{behaviour: Behaviour{Lists: true}, outside: Members, decisions: unscoped, change: byMembersForm}.start),
		fault("another caller's key is taken", "The caller is part of the fingerprint and not of the scope: two clients with one key block each other.",
			by("SCOPE-02", "SCOPE-05"), recipe{outside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Fingerprint = func(r *http.Request, body []byte) string {
					return Fingerprint(r, body) + r.Header.Get("Authorization")
				}
			}}.start),
		fault("replays before authorisation", "The layer is in front of the log-in, so that any caller gets a stored answer.",
			by("SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05"), recipe{inside: Members, decisions: unscoped, change: TwoMembers}.start),
		fault("401 is remembered", "All 4xx are stored alike: a client that logs in again and retries is refused for ever.",
			by("ERR-05", "SCOPE-01", "SCOPE-02", "SCOPE-03", "SCOPE-05"),
			recipe{inside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Keeps = func(a *Answer) bool { return a.Status < http.StatusInternalServerError }
			}}.start),
	}
}

func unscoped(d *Decisions) { d.Scope = func(*http.Request) string { return "" } }

// TwoMembers configures the shop's two members, whose tokens are required.
func TwoMembers(c *check.Config) {
	c.User = &check.User{Header: []wire.Field{{Name: "Authorization", Value: tokenOfAnn}}}
	c.Other = &check.User{Header: []wire.Field{{Name: "Authorization", Value: tokenOfBob}}}
}
