package faulty

import (
	"net/http"
	"time"

	"github.com/semel-dev/semel/check"
)

// Healthy returns services without a mistake, all different.
// They differ in what the door does, then in the application behind it, and in the layers before and around it.
func Healthy() []Service {
	return []Service{
		healthy("waits", "A duplicate waits for the first one's answer.", recipe{}.start),
		healthy("409 at once", "A duplicate of a running request is refused, with the time to retry.",
			recipe{decisions: func(d *Decisions) { d.Wait = 0 }}.start),
		healthy("keys required", "A request without a key is refused.", recipe{decisions: func(d *Decisions) { d.Required = true }}.start),
		healthy("structured keys only", "Keys without quotes are refused, as the draft literally says.",
			recipe{decisions: keyed(quotedOnly)}.start),
		healthy("refusals are released", "After a 4xx nothing happened, and the key is free.",
			recipe{decisions: func(d *Decisions) { d.Keeps = func(a *Answer) bool { return a.Status < 400 } }}.start),
		healthy("all answers are stored", "Like payment services: 400 and 500 are answers, and replayed. Keys are raw.",
			paying(recipe{profile: "stripe", decisions: func(d *Decisions) {
				d.Keeps = func(*Answer) bool { return true }
				d.Mismatch = func(d *Door, w http.ResponseWriter, _ *http.Request, _ *Record) {
					d.Refuse(w, http.StatusBadRequest, "key-reused: keys can only be used with the same parameters")
				}
			}})),
		healthy("only stops duplicates", "A duplicate is answered as one; answers are not kept.",
			recipe{profile: "dedup", decisions: func(d *Decisions) {
				d.Dedup = true
				d.Fingerprint = func(*http.Request, []byte) string { return "" }
			}}.start),
		healthy("numbers are unique", "The application refuses an existing number, with an index.",
			recipe{behaviour: Behaviour{Takes: (*Books).AddNew}}.start),
		healthy("numbers are found", "The application returns the existing order, in one statement.",
			recipe{behaviour: Behaviour{Takes: (*Books).FindOrAdd}}.start),
		healthy("members and cookies", "Two members, a session cookie, and answers with the time and the id of the request.",
			recipe{
				behaviour: Behaviour{Cookie: true, Volatile: true}, outside: Members, change: TwoMembers,
			}.start),
		healthy("the door outside of the log-in", "The token is part of the scope, and refusals are not stored.",
			recipe{inside: Members, change: TwoMembers}.start),
		healthy("leads to a list", "Location is the page of the list that contains the order: consecutive orders have the same.",
			recipe{behaviour: Behaviour{Lists: true}, outside: Members, change: TwoMembers}.start),
		healthy("leads to a list, and returns nothing else", "A form is answered with 303 to the page of the list, without a body: all answers are equal.",
			recipe{behaviour: Behaviour{Lists: true}, outside: Members, change: byMembersForm}.start),
		healthy("pays for orders", "A dependency that fails is a 502, after which a retry can succeed.", paying(recipe{})),
		healthy("parts", "A multipart form, whose boundary does not count.", recipe{change: inParts}.start),
		healthy("nothing is an order", "A request without a body orders a coffee.", recipe{behaviour: Behaviour{Plain: true}}.start),
		healthy("slow", "An order takes a tenth of a second.",
			recipe{behaviour: Behaviour{Before: 60 * time.Millisecond, After: 40 * time.Millisecond}}.start),
		healthy("quick", "An order takes no time at all.",
			recipe{behaviour: Behaviour{Before: time.Nanosecond, After: time.Nanosecond}}.start),
		healthy("mortal", "It is restarted and killed; requests that a crash interrupted are refused as unknown.",
			recipe{behaviour: unhurried(), process: mortal}.start),
		healthy("expiring", "Records are kept for four seconds, and then the key is new.",
			recipe{decisions: func(d *Decisions) { d.Retention = retention }, change: expiring}.start),
		healthy("a page", "A form with a token, which together with the content is the key.", ordering(recipe{})),
		healthy("a receiver", "Signed deliveries, each processed once.", receiving(recipe{})),
		healthy("a receiver that answers 409", "A redelivery that overlaps the first is asked to come later.",
			receiving(recipe{decisions: func(d *Decisions) { d.Wait = 0 }})),
	}
}

func quotedOnly(r *http.Request) (string, error) {
	key, err := ReadKey(r)
	if err == nil && r.Header.Get("Idempotency-Key")[0] != '"' {
		return "", errBadKey
	}
	return key, err
}

var _ check.Counter = (*App)(nil)
