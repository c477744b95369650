package faulty

import (
	"net/http"
	"strings"
)

// answerFaults store or send answers wrongly.
func answerFaults() []Service {
	return []Service{
		fault("a replay is 200", "The body is stored, the status is not: 201 Created becomes 200.",
			by("BASIC-03").echoed(anotherAnswer()...), recipe{decisions: replayed(func(a *Answer) {
				if a.Status < 300 {
					a.Status = http.StatusOK
				}
			})}.start),
		fault("a replay without Location", "Status and body are stored, headers are not: the client does not learn the address of its order.",
			by("BASIC-05").echoed(anotherAnswer()...), recipe{decisions: replayed(func(a *Answer) { a.header.Del("Location") })}.start),
		fault("a replay without headers about the content", "The replay is written by a helper that treats everything as text.",
			by("BASIC-12"), recipe{decisions: replayed(func(a *Answer) { a.header.Set("Content-Type", "text/plain") })}.start),
		fault("a replay without body", "Only the status is stored, and a replay is an empty 201.",
			by("BASIC-04").echoed(anotherAnswer()...), recipe{decisions: replayed(func(a *Answer) { a.Body.Reset() })}.start),
		fault("a replay is not marked", "The client cannot distinguish a stored answer from a fresh one.",
			by("BASIC-08"), recipe{decisions: func(d *Decisions) {
				d.Replay = func(w http.ResponseWriter, a *Answer) { a.writeTo(w, false) }
			}}.start),
		fault("the first is marked as replayed", "The mark is set before the answer is recorded, or whenever there is a key.",
			by("BASIC-09"), recipe{decisions: func(d *Decisions) {
				d.First = func(w http.ResponseWriter, a *Answer) { a.writeTo(w, true) }
			}}.start),
		fault("cookies are replayed", "All headers are stored, and the answer hands out the first caller's session.",
			by("SCOPE-04"), recipe{
				behaviour: Behaviour{Cookie: true},
				decisions: func(d *Decisions) {
					d.Settle = func(d *Door, _ *http.Request, rec *Record, got *Answer) {
						kept := got.kept()
						kept.header = got.Header().Clone()
						d.memory.Settle(rec, kept)
					}
				},
			}.start),
		fault("the copy goes past the recorder", "The recorder has Write only; a handler that streams by io.Copy finds ReadFrom below it, and the record stays empty.",
			by("BASIC-04").echoed(anotherAnswer()...), recipe{decisions: func(d *Decisions) {
				d.Settle = func(d *Door, _ *http.Request, rec *Record, got *Answer) {
					kept := got.kept()
					kept.Body.Reset()
					d.memory.Settle(rec, kept)
				}
			}}.start),
		fault("too large to be kept, so run again", "An answer that does not fit into the column is not stored, and without a record the retry runs.",
			by(append(doneAgain(), "BASIC-04", "KEY-03", "KEY-05", "KEY-13", "MIS-01", "MIS-03", "MIS-08", "MIS-10", "RACE-09", "LOST-03", "SIZE-07")...),
			recipe{decisions: func(d *Decisions) {
				right := d.Keeps
				d.Keeps = func(a *Answer) bool { return right(a) && a.Body.Len() <= 16 }
			}}.start),
		fault("duplicates are welcomed", "A layer that only stops duplicates answers them with an empty 200: no caller learns of it.",
			by("BASIC-13", "ERR-01").echoed(anotherAnswer()...), recipe{profile: "dedup", decisions: func(d *Decisions) {
				d.Dedup = true
				d.Duplicate = func(_ *Door, w http.ResponseWriter) { w.WriteHeader(http.StatusOK) }
			}}.start),
		fault("made anew", "The replay is not stored but rebuilt from the row, by code that has changed, or with another view.",
			by("BASIC-04").echoed(anotherAnswer()...), recipe{decisions: replayed(func(a *Answer) {
				text := a.Body.String()
				a.Body.Reset()
				_, _ = a.Body.WriteString(strings.Replace(text, `"amount":`, `"amount_cents":`, 1)) // never fails
			})}.start),
	}
}

func replayed(change func(*Answer)) func(*Decisions) {
	return func(d *Decisions) {
		d.Replay = func(w http.ResponseWriter, a *Answer) {
			given := a.kept()
			change(given)
			given.writeTo(w, true)
		}
	}
}
