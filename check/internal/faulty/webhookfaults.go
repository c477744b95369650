package faulty

import (
	"net/http"
	"time"

	"github.com/semel-dev/semel/check"
)

// webhookFaults mishandle deliveries.
func webhookFaults() []Service {
	return []Service{
		fault("signatures are ignored", "The route was open during development, and still is: any caller that knows it can order.",
			by("HOOK-02", "HOOK-03", "HOOK-04"), receiving(recipe{outside: func(next http.Handler) http.Handler { return next }})),
		fault("timestamps are ignored", "The signature is verified, its age is not: a recorded delivery can be sent again once its id is forgotten.",
			by("HOOK-04"), receiving(recipe{outside: func(next http.Handler) http.Handler {
				return signedWithin(Secret(), 1<<62, next)
			}})),
		fault("a redelivery is a conflict", "A duplicate is answered 409, which the sender treats as a failure: it retries for days, and then disables the webhook.",
			by("BASIC-03", "BASIC-10", "RACE-07", "RACE-09", "LOST-03", "LOST-04", "LOST-05", "LOST-06", "LOST-07", "LOST-10", "SIZE-03", "SIZE-04", "SIZE-05", "SIZE-06", "HOOK-01"),
			impatient(receiving(recipe{decisions: func(d *Decisions) { d.Dedup = true }}))),
		fault("seen before it succeeded", "The id is recorded as seen before the work begins: if that fails, the redelivery is dropped.",
			by("ERR-01", "ERR-02", "ERR-03", "ERR-04", "HOOK-06", "HOOK-07"), receiving(recipe{decisions: func(d *Decisions) {
				d.Keeps = func(*Answer) bool { return true }
				right := d.Replay
				d.Replay = func(w http.ResponseWriter, a *Answer) {
					given := a.kept()
					given.Status = http.StatusOK
					right(w, given)
				}
			}})),
		fault("a forgery burns the id", "The id is recorded before the signature is verified: a stranger who guesses ids can suppress deliveries.",
			by("HOOK-03"), receiving(recipe{
				outside: func(next http.Handler) http.Handler { return next },
				inside:  func(next http.Handler) http.Handler { return Signed(Secret(), next) },
				decisions: func(d *Decisions) {
					d.Keeps = func(a *Answer) bool { return a.Status < http.StatusInternalServerError }
				},
			})),
		fault("payloads instead of ids", "Deliveries are identified by a hash of their payload: two equal payloads count as one.",
			by("BASIC-07", "MIS-01", "MIS-08", "MIS-11", "HOOK-05"), receiving(recipe{decisions: func(d *Decisions) {
				d.Key = func(r *http.Request) (string, error) {
					body, err := ReadBody(r)
					r.Body = readable(body)
					return digest(string(body)), err
				}
			}})),
		fault("200 while it runs", "A redelivery during the work is answered 200, as done: if the work then fails, the delivery is lost.",
			by("HOOK-07"), receiving(recipe{behaviour: unhurried(), decisions: busy(func(_ *Door, w http.ResponseWriter, _ *Record) {
				w.WriteHeader(http.StatusOK)
			})})),
	}
}

// Secret returns the secret that the sender and the shop share.
func Secret() []byte { return []byte("a secret of twenty-four b") }

// Deliveries sends orders as signed webhooks.
func Deliveries(c *check.Config) {
	c.Profile, _ = check.ProfileNamed("webhook")
	c.Key, c.Secret = check.KeyPlace{}, Secret()
}

// receiving starts a shop that takes orders as signed deliveries. Unless the recipe says otherwise, signatures are
// verified outside of the door.
func receiving(h recipe) func() (Running, error) {
	return func() (Running, error) {
		if h.outside == nil {
			h.outside = func(next http.Handler) http.Handler { return Signed(Secret(), next) }
		}
		turn := h.decisions
		h.decisions = func(d *Decisions) {
			d.Key, d.Wait = ReadDelivery, time.Second
			d.Fingerprint = func(*http.Request, []byte) string { return "" }
			if turn != nil {
				turn(d)
			}
		}
		desk := &payments{}
		h.behaviour.Ask = desk.pay
		h.change = func(c *check.Config) {
			Deliveries(c)
			c.Observed = desk
		}
		return h.start()
	}
}
