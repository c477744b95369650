package faulty

import (
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel/check"
)

// Healthy returns services without a mistake, all different.
func Healthy() []Service { return slices.Concat(healthyDoors(), healthyShops()) }

// healthyDoors differ in what the door does.
func healthyDoors() []Service {
	return []Service{
		{Name: "waits", Says: "A duplicate waits for the first one's answer.", Start: recipe{}.start},
		{
			Name: "409 at once", Says: "A duplicate of a running request is refused, with the time to retry.",
			Start: recipe{decisions: func(d *Decisions) { d.Wait = 0 }}.start,
		},
		{
			Name: "keys required", Says: "A request without a key is refused.",
			Start: recipe{decisions: func(d *Decisions) { d.Required = true }}.start,
		},
		{
			Name: "structured keys only", Says: "Keys without quotes are refused, as the draft literally says.",
			Start: recipe{decisions: keyed(quotedOnly)}.start,
		},
		{
			Name: "refusals are released", Says: "After a 4xx nothing happened, and the key is free.",
			Start: recipe{decisions: func(d *Decisions) { d.Keeps = func(a *Answer) bool { return a.Status < 400 } }}.start,
		},
		{
			Name: "all answers are stored", Says: "Like payment services: 400 and 500 are answers, and replayed. Keys are raw.",
			Start: paying(recipe{profile: "stripe", decisions: func(d *Decisions) {
				d.Keeps = func(*Answer) bool { return true }
				d.Mismatch = func(d *Door, w http.ResponseWriter, _ *http.Request, _ *Record) {
					d.Refuse(w, http.StatusBadRequest, "key-reused: keys can only be used with the same parameters")
				}
			}}),
		},
		{
			Name: "only stops duplicates", Says: "A duplicate is answered as one; answers are not kept.",
			Start: recipe{profile: "dedup", decisions: func(d *Decisions) {
				d.Dedup = true
				d.Fingerprint = func(*http.Request, []byte) string { return "" }
			}}.start,
		},
	}
}

// healthyShops differ in the application behind the door, and in the layers before and around it.
func healthyShops() []Service {
	return []Service{
		{
			Name: "numbers are unique", Says: "The application refuses an existing number, with an index.",
			Start: recipe{behaviour: Behaviour{Takes: (*Books).AddNew}}.start,
		},
		{
			Name: "numbers are found", Says: "The application returns the existing order, in one statement.",
			Start: recipe{behaviour: Behaviour{Takes: (*Books).FindOrAdd}}.start,
		},
		{
			Name: "members and cookies", Says: "Two members, a session cookie, and answers with the time and the id of the request.",
			Start: recipe{
				behaviour: Behaviour{Cookie: true, Volatile: true}, outside: Members, change: TwoMembers,
			}.start,
		},
		{
			Name: "the door outside of the log-in", Says: "The token is part of the scope, and refusals are not stored.",
			Start: recipe{inside: Members, change: TwoMembers}.start,
		},
		{
			Name: "leads to a list", Says: "Location is the page of the list that contains the order: consecutive orders have the same.",
			Start: recipe{behaviour: Behaviour{Lists: true}, outside: Members, change: TwoMembers}.start,
		},
		{
			Name: "leads to a list, and returns nothing else", Says: "A form is answered with 303 to the page of the list, without a body: all answers are equal.",
			Start: recipe{behaviour: Behaviour{Lists: true}, outside: Members, change: byMembersForm}.start,
		},
		{
			Name: "pays for orders", Says: "A dependency that fails is a 502, after which a retry can succeed.",
			Start: paying(recipe{}),
		},
		{Name: "parts", Says: "A multipart form, whose boundary does not count.", Start: recipe{change: inParts}.start},
		{
			Name: "nothing is an order", Says: "A request without a body orders a coffee.",
			Start: recipe{behaviour: Behaviour{Plain: true}}.start,
		},
		{
			Name: "slow", Says: "An order takes a tenth of a second.",
			Start: recipe{behaviour: Behaviour{Before: 60 * time.Millisecond, After: 40 * time.Millisecond}}.start,
		},
		{
			Name: "quick", Says: "An order takes no time at all.",
			Start: recipe{behaviour: Behaviour{Before: time.Nanosecond, After: time.Nanosecond}}.start,
		},
		{
			Name: "mortal", Says: "It is restarted and killed; requests that a crash interrupted are refused as unknown.",
			Start: recipe{behaviour: unhurried(), process: mortal}.start,
		},
		{
			Name: "expiring", Says: "Records are kept for four seconds, and then the key is new.",
			Start: recipe{decisions: func(d *Decisions) { d.Retention = retention }, change: expiring}.start,
		},
		{Name: "a page", Says: "A form with a token, which together with the content is the key.", Start: ordering(recipe{})},
		{Name: "a receiver", Says: "Signed deliveries, each processed once.", Start: receiving(recipe{})},
		{
			Name: "a receiver that answers 409", Says: "A redelivery that overlaps the first is asked to come later.",
			Start: receiving(recipe{decisions: func(d *Decisions) { d.Wait = 0 }}),
		},
	}
}

// quotedOnly refuses raw keys.
func quotedOnly(r *http.Request) (string, error) {
	key, err := ReadKey(r)
	if err == nil && r.Header.Get("Idempotency-Key")[0] != '"' {
		return "", errBadKey
	}
	return key, err
}

var _ check.Counter = (*App)(nil)
