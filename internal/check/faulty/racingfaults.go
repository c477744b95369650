package faulty

import (
	"context"
	"net/http"
	"sync"
)

// racingFaults only matter if two requests overlap.
func racingFaults() []Service {
	return []Service{
		{
			Name: "look, then insert", Says: "SELECT, and INSERT if it found nothing: two that search at the same time both insert.",
			Caught:  append(doneTogether(), "MIS-11"),
			Depends: []string{"LOST-07", "LOST-10"},
			Start: recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
					if rec := m.Look(id); rec != nil {
						return rec, false
					}
					within(context.Background(), 2*unhurried().Before) // the time between two statements
					return m.take(life, id, asked), true
				}
			}}.start,
		},
		{
			Name: "the record comes last", Says: "Nothing is written before the work is done: the record helps retries, and not simultaneous requests.",
			Caught:  append(doneTogether(), "MIS-11"),
			Depends: []string{"LOST-07", "LOST-10"},
			Start: recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
					if rec := m.Look(id); rec != nil && rec.over() {
						return rec, false
					}
					return m.take(life, id, asked), true
				}
			}}.start,
		},
		{
			Name: "racers get 500", Says: "The unique index works, but its error is not handled.",
			Caught:  []string{"RACE-06"},
			Depends: []string{"LOST-07", "LOST-10"},
			Start: recipe{behaviour: unhurried(), decisions: busy(func(_ *Door, w http.ResponseWriter, _ *Record) {
				answerProblem(w, http.StatusInternalServerError, "duplicate key value violates unique constraint")
			})}.start,
		},
		{
			Name: "racers get an empty 200", Says: "The record exists without an answer, and the empty column is sent.",
			Caught:  []string{"RACE-06"},
			Depends: []string{"LOST-07", "LOST-10"},
			Start: recipe{behaviour: unhurried(), decisions: busy(func(_ *Door, w http.ResponseWriter, _ *Record) {
				w.WriteHeader(http.StatusOK)
			})}.start,
		},
	}
}

// refusedFaults refuse racers wrongly, or refuse the wrong ones.
func refusedFaults() []Service {
	return []Service{
		{
			Name: "racers do not learn when to retry", Says: "409 is right, but without the time to retry.",
			Caught: []string{"RACE-07"},
			Start: recipe{decisions: busy(func(d *Door, w http.ResponseWriter, _ *Record) {
				d.Refuse(w, http.StatusConflict, "in-flight: the first one is still running")
			})}.start,
		},
		{
			Name: "impatience frees the key", Says: "A waiter that gives up deletes the record to clean up, but it belongs to the holder, which is still running.",
			Caught:  []string{"RACE-02", "RACE-03", "RACE-04", "RACE-05", "RACE-06", "RACE-09"},
			Depends: []string{"LOST-07", "LOST-10"},
			Start: recipe{behaviour: unhurried(), decisions: busy(func(d *Door, w http.ResponseWriter, rec *Record) {
				d.memory.forget(rec.id)
				d.comeAgain(w, "in-flight: the first one is still running")
			})}.start,
		},
		{
			Name: "one lock for all", Says: "A mutex around everything, taken with TryLock: during one order, all others are refused.",
			Caught: []string{"RACE-08"},
			Start:  recipe{outside: oneAtATime}.start,
		},
		{
			Name: "HTTP/2 goes past", Says: "A second listener was added later, and serves the application without the middleware.",
			Caught: []string{"RACE-05"},
			Start: recipe{decisions: func(d *Decisions) {
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) { return m.Claim(life, id, asked) }
				d.Key = func(r *http.Request) (string, error) {
					if r.ProtoMajor == 2 {
						return "", errNoKey
					}
					return ReadKey(r)
				}
			}}.start,
		},
	}
}

// busy replaces the answer to a duplicate of a running request, which it does not wait for.
func busy(answer func(*Door, http.ResponseWriter, *Record)) func(*Decisions) {
	return func(d *Decisions) { d.Wait, d.InFlight = 0, answer }
}

func oneAtATime(next http.Handler) http.Handler {
	var lock sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !lock.TryLock() {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusConflict, "in-flight: another caller is being served")
			return
		}
		defer lock.Unlock()
		next.ServeHTTP(w, r)
	})
}
