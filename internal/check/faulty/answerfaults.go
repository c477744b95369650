package faulty

import (
	"net/http"
	"strings"
)

// answerFaults store or send answers wrongly.
func answerFaults() []Service {
	return []Service{
		{
			Name: "a replay is 200", Says: "The body is stored, the status is not: 201 Created becomes 200.",
			Caught: []string{"BASIC-03"},
			Echoes: anotherAnswer(),
			Start: recipe{decisions: replayed(func(a *Answer) {
				if a.Status < 300 {
					a.Status = http.StatusOK
				}
			})}.start,
		},
		{
			Name: "a replay without Location", Says: "Status and body are stored, headers are not: the client does not learn the address of its order.",
			Caught: []string{"BASIC-05"},
			Echoes: anotherAnswer(),
			Start:  recipe{decisions: replayed(func(a *Answer) { a.header.Del("Location") })}.start,
		},
		{
			Name: "a replay without headers about the content", Says: "The replay is written by a helper that treats everything as text.",
			Caught: []string{"BASIC-12"},
			Start:  recipe{decisions: replayed(func(a *Answer) { a.header.Set("Content-Type", "text/plain") })}.start,
		},
		{
			Name: "a replay without body", Says: "Only the status is stored, and a replay is an empty 201.",
			Caught: []string{"BASIC-04"},
			Echoes: anotherAnswer(),
			Start:  recipe{decisions: replayed(func(a *Answer) { a.Body.Reset() })}.start,
		},
		{
			Name: "a replay is not marked", Says: "The client cannot distinguish a stored answer from a fresh one.",
			Caught: []string{"BASIC-08"},
			Start: recipe{decisions: func(d *Decisions) {
				d.Replay = func(w http.ResponseWriter, a *Answer) { a.writeTo(w, false) }
			}}.start,
		},
	}
}

// keepingFaults store answers wrongly.
func keepingFaults() []Service {
	return []Service{
		{
			Name: "the first is marked as replayed", Says: "The mark is set before the answer is recorded, or whenever there is a key.",
			Caught: []string{"BASIC-09"},
			Start: recipe{decisions: func(d *Decisions) {
				d.First = func(w http.ResponseWriter, a *Answer) { a.writeTo(w, true) }
			}}.start,
		},
		{
			Name: "cookies are replayed", Says: "All headers are stored, and the answer hands out the first caller's session.",
			Caught: []string{"SCOPE-04"},
			Start: recipe{
				behaviour: Behaviour{Cookie: true},
				decisions: func(d *Decisions) {
					d.Settle = func(d *Door, _ *http.Request, rec *Record, got *Answer) {
						kept := got.kept()
						kept.header = got.Header().Clone()
						d.memory.Settle(rec, kept)
					}
				},
			}.start,
		},
		{
			Name: "the copy goes past the recorder", Says: "The recorder has Write only; a handler that streams by io.Copy finds ReadFrom below it, and the record stays empty.",
			Caught: []string{"BASIC-04"},
			Echoes: anotherAnswer(),
			Start: recipe{decisions: func(d *Decisions) {
				d.Settle = func(d *Door, _ *http.Request, rec *Record, got *Answer) {
					kept := got.kept()
					kept.Body.Reset()
					d.memory.Settle(rec, kept)
				}
			}}.start,
		},
		{
			Name: "too large to be kept, so run again", Says: "An answer that does not fit into the column is not stored, and without a record the retry runs.",
			Caught: append(doneAgain(), "BASIC-04", "KEY-03", "KEY-05", "KEY-13", "MIS-01", "MIS-03", "MIS-08", "MIS-10", "RACE-09", "LOST-03", "SIZE-07"),
			Start: recipe{decisions: func(d *Decisions) {
				right := d.Keeps
				d.Keeps = func(a *Answer) bool { return right(a) && a.Body.Len() <= 16 }
			}}.start,
		},
		{
			Name: "duplicates are welcomed", Says: "A layer that only stops duplicates answers them with an empty 200: no caller learns of it.",
			Caught: []string{"BASIC-13", "ERR-01"},
			Echoes: anotherAnswer(),
			Start: recipe{profile: "dedup", decisions: func(d *Decisions) {
				d.Dedup = true
				d.Duplicate = func(_ *Door, w http.ResponseWriter) { w.WriteHeader(http.StatusOK) }
			}}.start,
		},
		{
			Name: "made anew", Says: "The replay is not stored but rebuilt from the row, by code that has changed, or with another view.",
			Caught: []string{"BASIC-04"},
			Echoes: anotherAnswer(),
			Start: recipe{decisions: replayed(func(a *Answer) {
				text := a.Body.String()
				a.Body.Reset()
				_, _ = a.Body.WriteString(strings.Replace(text, `"amount":`, `"amount_cents":`, 1)) // never fails
			})}.start,
		},
	}
}

// replayed changes the replays.
func replayed(change func(*Answer)) func(*Decisions) {
	return func(d *Decisions) {
		d.Replay = func(w http.ResponseWriter, a *Answer) {
			given := a.kept()
			change(given)
			given.writeTo(w, true)
		}
	}
}
