package faulty

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

// envelopeFaults hide whose answer a replay is, or that there is one.
func envelopeFaults() []Service {
	changedReplay := []string{"BASIC-03", "BASIC-04", "ERR-01"}
	return []Service{
		fault("a replay in an envelope, for all callers",
			"The stored answer comes as a member of another one, with small numbers and without Location, to any caller that sends the key.",
			by(append(changedReplay, "SCOPE-01", "SCOPE-02", "SCOPE-05")...).echoed(anotherAnswer()...),
			recipe{outside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Replay = enveloped
			}}.start),
		fault("a replay in other words, for all callers",
			"Any caller that sends the key gets the number of the order, in an answer that only replays have.",
			by(append(changedReplay, "SCOPE-01", "SCOPE-02", "SCOPE-05")...).echoed(append(anotherAnswer(), "KEY-03", "KEY-05", "KEY-13", "MIS-10")...),
			recipe{outside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Replay = abridged
			}}.start),
		fault("keys have no owner, after a slow look-up", "The key alone is looked up, in a store a few milliseconds away: two callers at one moment both find nothing.",
			by("SCOPE-01", "SCOPE-02", "SCOPE-05"),
			only(recipe{behaviour: unhurried(), outside: Members, change: TwoMembers, decisions: func(d *Decisions) {
				unscoped(d)
				d.Wait = 0
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
					if rec := m.Look(id); rec != nil {
						return rec, false
					}
					within(context.Background(), slowLookUp)
					return m.insertOver(life, id, asked), true
				}
			}}.start, "BASIC-01", "scope")),
		fault("a replay in an envelope, for every request",
			"The stored answer comes as a member of another one, whatever was sent with the key.",
			by(append(changedReplay, "ERR-02", "MIS-02", "MIS-03", "MIS-04", "MIS-05", "MIS-06", "MIS-07", "SIZE-07")...).echoed(anotherAnswer()...),
			recipe{decisions: func(d *Decisions) {
				d.Fingerprint = func(*http.Request, []byte) string { return "" }
				d.Replay = enveloped
			}}.start),
		fault("no key is a key", "Where the header is missing, method and path are the key: all callers without one share an answer.",
			by("KEY-01"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				key, err := ReadKey(r)
				if errors.Is(err, errNoKey) {
					return r.Method + r.URL.Path, nil
				}
				return key, err
			})}.start),
		fault("a duplicate is another status", "The layer stops duplicates by 412, where the draft has 409.",
			by("BASIC-13").echoed("BASIC-10", "KEY-03", "KEY-05", "KEY-13", "LOST-03", "LOST-04", "LOST-05", "LOST-06", "LOST-07", "LOST-10",
				"RACE-06", "SIZE-03", "SIZE-04", "SIZE-05", "SIZE-06"),
			recipe{profile: "dedup", decisions: func(d *Decisions) {
				d.Dedup = true
				d.Fingerprint = func(*http.Request, []byte) string { return "" }
				d.Duplicate = func(d *Door, w http.ResponseWriter) {
					d.Refuse(w, http.StatusPreconditionFailed, "duplicate: this was done already")
				}
			}}.start),
	}
}

// slowLookUp is the time between a look-up and the record, short next to an order's.
const slowLookUp = 10 * time.Millisecond

func enveloped(w http.ResponseWriter, a *Answer) {
	writeReplay(w, `{"cached":true,"data":%s}`, a.Body.Bytes())
}

// writeReplay writes a body that a first answer does not have.
func writeReplay(w http.ResponseWriter, format string, value []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Idempotent-Replayed", "true")
	w.WriteHeader(http.StatusOK)
	_, _ = fmt.Fprintf(w, format, value) // the client may be gone
}

var orderID = regexp.MustCompile(`"id":(\d+)`)

// abridged writes a replay that has the number of the order and nothing else.
func abridged(w http.ResponseWriter, a *Answer) {
	order := []byte("0")
	if found := orderID.FindSubmatch(a.Body.Bytes()); found != nil {
		order = found[1]
	}
	writeReplay(w, `{"already":true,"order":%s}`, order)
}
