package zoo

import (
	"net/http"
	"strings"
)

// answerAnimals keep or give answers in a wrong way.
func answerAnimals() []Animal {
	return []Animal{
		{
			Name:   "a replay is 200",
			Says:   "The body is stored, the status is not: what was 201 Created becomes 200.",
			Caught: append(anotherAnswer(), "BASIC-03"),
			Setup: habitat{decisions: replayed(func(a *Answer) {
				if a.Status < 300 {
					a.Status = http.StatusOK
				}
			})}.home,
		},
		{
			Name:   "a replay without Location",
			Says:   "Status and body are stored, headers are not: the client does not learn where its order is.",
			Caught: append(anotherAnswer(), "BASIC-05"),
			Setup:  habitat{decisions: replayed(func(a *Answer) { a.header.Del("Location") })}.home,
		},
		{
			Name:   "a replay without headers about the content",
			Says:   "The replay is written by a helper that thinks that everything is text.",
			Caught: []string{"BASIC-12"},
			Setup:  habitat{decisions: replayed(func(a *Answer) { a.header.Set("Content-Type", "text/plain") })}.home,
		},
		{
			Name:   "a replay without body",
			Says:   "Only the status is kept in the table, and a replay is an empty 201.",
			Caught: append(anotherAnswer(), "BASIC-04"),
			Setup:  habitat{decisions: replayed(func(a *Answer) { a.Body.Reset() })}.home,
		},
		{
			Name:   "a replay is not marked",
			Says:   "The client cannot tell a stored answer from a fresh one.",
			Caught: []string{"BASIC-08"},
			Setup: habitat{decisions: func(d *Decisions) {
				d.Replay = func(w http.ResponseWriter, a *Answer) { a.writeTo(w, false) }
			}}.home,
		},
	}
}

// keepingAnimals keep answers in a wrong way.
func keepingAnimals() []Animal {
	return []Animal{
		{
			Name:   "the first is marked as replayed",
			Says:   "The mark is put on before the answer is recorded, or whenever there is a key.",
			Caught: []string{"BASIC-09"},
			Setup: habitat{decisions: func(d *Decisions) {
				d.First = func(w http.ResponseWriter, a *Answer) { a.writeTo(w, true) }
			}}.home,
		},
		{
			Name:   "cookies are replayed",
			Says:   "All headers are stored, and the first caller's session is handed out with the answer.",
			Caught: []string{"SCOPE-04"},
			Setup: habitat{
				habits: Habits{Cookie: true},
				decisions: func(d *Decisions) {
					d.Settle = func(d *Door, _ *http.Request, rec *Record, got *Answer) {
						kept := got.kept()
						kept.header = got.Header().Clone()
						d.memory.Settle(rec, kept)
					}
				},
			}.home,
		},
		{
			Name:   "the copy goes past the recorder",
			Says:   "The recorder has Write only; a handler that streams by io.Copy finds ReadFrom below it, and the record stays empty.",
			Caught: append(anotherAnswer(), "BASIC-04"),
			Setup: habitat{decisions: func(d *Decisions) {
				d.Settle = func(d *Door, _ *http.Request, rec *Record, got *Answer) {
					kept := got.kept()
					kept.Body.Reset()
					d.memory.Settle(rec, kept)
				}
			}}.home,
		},
		{
			Name:   "too large to be kept, so run again",
			Says:   "An answer that does not fit into the column is not stored, and without a record the retry runs.",
			Caught: append(doneAgain(), "BASIC-04", "KEY-03", "KEY-05", "KEY-13", "MIS-01", "MIS-03", "MIS-08", "MIS-10", "RACE-09", "LOST-03", "SIZE-07"),
			Setup: habitat{decisions: func(d *Decisions) {
				right := d.Keeps
				d.Keeps = func(a *Answer) bool { return right(a) && a.Body.Len() <= 16 }
			}}.home,
		},
		{
			Name:   "duplicates are welcomed",
			Says:   "A layer that only stops duplicates answers them with 200 and nothing in it: nobody learns of it.",
			Caught: append(anotherAnswer(), "BASIC-13", "ERR-01"),
			Setup: habitat{profile: "dedup", decisions: func(d *Decisions) {
				d.Dedup = true
				d.Duplicate = func(_ *Door, w http.ResponseWriter) { w.WriteHeader(http.StatusOK) }
			}}.home,
		},
		{
			Name:   "made anew",
			Says:   "The replay is not stored but made from the row, by code that has changed, or with another view of it.",
			Caught: append(anotherAnswer(), "BASIC-04"),
			Setup: habitat{decisions: replayed(func(a *Answer) {
				text := a.Body.String()
				a.Body.Reset()
				_, _ = a.Body.WriteString(strings.Replace(text, `"amount":`, `"amount_cents":`, 1)) // never fails
			})}.home,
		},
	}
}

// replayed turns what a replay gives.
func replayed(change func(*Answer)) func(*Decisions) {
	return func(d *Decisions) {
		d.Replay = func(w http.ResponseWriter, a *Answer) {
			given := a.kept()
			change(given)
			given.writeTo(w, true)
		}
	}
}
