package zoo

import (
	"net/http"
	"slices"
	"time"

	"github.com/semel-dev/semel/check"
)

// Healthy are services without a mistake. No two of them are alike.
func Healthy() []Animal { return slices.Concat(healthyDoors(), healthyShops()) }

// healthyDoors differ in what the door does.
func healthyDoors() []Animal {
	return []Animal{
		{Name: "waits", Says: "A duplicate waits for the first one's answer.", Setup: habitat{}.home},
		{
			Name: "409 at once", Says: "A duplicate of what still runs is sent away, and told when to come again.",
			Setup: habitat{decisions: func(d *Decisions) { d.Wait = 0 }}.home,
		},
		{
			Name: "keys required", Says: "A request without a key is refused.",
			Setup: habitat{decisions: func(d *Decisions) { d.Required = true }}.home,
		},
		{
			Name: "structured keys only", Says: "Keys without quotes are refused, as the draft has it to the letter.",
			Setup: habitat{decisions: keyed(quotedOnly)}.home,
		},
		{
			Name: "refusals are released", Says: "After a 4xx nothing happened, and the key is free.",
			Setup: habitat{decisions: func(d *Decisions) { d.Keeps = func(a *Answer) bool { return a.Status < 400 } }}.home,
		},
		{
			Name: "all answers are stored", Says: "As payment services do: 400 and 500 are answers, and replayed. Keys are raw.",
			Setup: paying(habitat{profile: "stripe", decisions: func(d *Decisions) {
				d.Keeps = func(*Answer) bool { return true }
				d.Mismatch = func(d *Door, w http.ResponseWriter, _ *http.Request, _ *Record) {
					d.Refuse(w, http.StatusBadRequest, "key-reused: keys can only be used with the same parameters")
				}
			}}),
		},
		{
			Name: "only stops duplicates", Says: "A duplicate is told that it is one; answers are not kept.",
			Setup: habitat{profile: "dedup", decisions: func(d *Decisions) {
				d.Dedup = true
				d.Fingerprint = func(*http.Request, []byte) string { return "" }
			}}.home,
		},
	}
}

// healthyShops differ in what stands behind, before and around the door.
func healthyShops() []Animal {
	return []Animal{
		{
			Name: "numbers are unique", Says: "The application refuses a number that is there, by an index.",
			Setup: habitat{habits: Habits{Takes: (*Books).AddNew}}.home,
		},
		{
			Name: "numbers are found", Says: "The application gives the order that is there, in one statement.",
			Setup: habitat{habits: Habits{Takes: (*Books).FindOrAdd}}.home,
		},
		{
			Name: "members and cookies", Says: "Two members, a session cookie, and answers with the time and the id of the request.",
			Setup: habitat{
				habits: Habits{Cookie: true, Volatile: true}, outside: Members, change: TwoMembers,
			}.home,
		},
		{
			Name: "the door outside of the log-in", Says: "The token is a part of the scope, and what is refused is not stored.",
			Setup: habitat{inside: Members, change: TwoMembers}.home,
		},
		{
			Name: "pays for orders", Says: "A dependency that fails is a 502, after which a retry can succeed.",
			Setup: paying(habitat{}),
		},
		{Name: "parts", Says: "A form in parts, whose boundary does not count.", Setup: habitat{change: inParts}.home},
		{
			Name: "nothing is an order", Says: "A request without a body orders a coffee.",
			Setup: habitat{habits: Habits{Plain: true}}.home,
		},
		{
			Name: "slow", Says: "An order takes a tenth of a second.",
			Setup: habitat{habits: Habits{Before: 60 * time.Millisecond, After: 40 * time.Millisecond}}.home,
		},
		{
			Name: "quick", Says: "An order takes no time at all.",
			Setup: habitat{habits: Habits{Before: time.Nanosecond, After: time.Nanosecond}}.home,
		},
		{
			Name: "mortal", Says: "It is restarted and killed; what a crash left is refused as unknown.",
			Setup: habitat{process: mortal}.home,
		},
		{
			Name: "expiring", Says: "Records are kept for four seconds, and then the key is new.",
			Setup: habitat{decisions: func(d *Decisions) { d.Retention = retention }, change: expiring}.home,
		},
		{Name: "a page", Says: "A form with a token, which together with the content is the key.", Setup: ordering(habitat{})},
		{Name: "a receiver", Says: "Signed deliveries, each processed once.", Setup: receiving(habitat{})},
		{
			Name: "a receiver that answers 409", Says: "A redelivery beside the first is told to come later.",
			Setup: receiving(habitat{decisions: func(d *Decisions) { d.Wait = 0 }}),
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

var _ check.Oracle = (*App)(nil)
