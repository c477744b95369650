package faulty

import (
	"context"
	"net/http"
	"sync"
)

// racingFaults only matter if two requests overlap: racers get in, or are refused wrongly.
func racingFaults() []Service {
	return []Service{
		fault("look, then insert", "SELECT, and INSERT if it found nothing: two that search at the same time both insert.",
			by(append(doneTogether(), "MIS-11")...).perhaps("LOST-07", "LOST-10"),
			recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
					if rec := m.Look(id); rec != nil {
						return rec, false
					}
					within(context.Background(), 2*unhurried().Before) // the time between two statements
					return m.insertOver(life, id, asked), true
				}
			}}.start),
		fault("the record comes last", "Nothing is written before the work is done: the record helps retries, and not simultaneous requests.",
			by(append(doneTogether(), "MIS-11")...).perhaps("LOST-07", "LOST-10"),
			recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
					if rec := m.Look(id); rec != nil && rec.over() {
						return rec, false
					}
					return m.insertOver(life, id, asked), true
				}
			}}.start),
		fault("racers get 500", "The unique index works, but its error is not handled.",
			by("RACE-06").perhaps("LOST-07", "LOST-10"),
			recipe{behaviour: unhurried(), decisions: busy(func(_ *Door, w http.ResponseWriter, _ *Record) {
				answerProblem(w, http.StatusInternalServerError, "duplicate key value violates unique constraint")
			})}.start),
		fault("racers get an empty 200", "The record exists without an answer, and the empty column is sent.",
			by("RACE-06").perhaps("LOST-07", "LOST-10"),
			recipe{behaviour: unhurried(), decisions: busy(func(_ *Door, w http.ResponseWriter, _ *Record) {
				w.WriteHeader(http.StatusOK)
			})}.start),
		fault("racers do not learn when to retry", "409 is right, but without the time to retry.",
			by("RACE-07"), recipe{decisions: busy(func(d *Door, w http.ResponseWriter, _ *Record) {
				d.Refuse(w, http.StatusConflict, "in-flight: the first one is still running")
			})}.start),
		fault("impatience frees the key", "A waiter that gives up deletes the record to clean up, but it belongs to the holder, which is still running.",
			by("RACE-02", "RACE-03", "RACE-04", "RACE-05", "RACE-06", "RACE-09").perhaps("LOST-07", "LOST-10"),
			recipe{behaviour: unhurried(), decisions: busy(func(d *Door, w http.ResponseWriter, rec *Record) {
				d.memory.forget(rec.id)
				d.comeAgain(w, "in-flight: the first one is still running")
			})}.start),
		fault("one lock for all", "A mutex around everything, taken with TryLock: during one order, all others are refused.",
			by("RACE-08"), recipe{outside: oneAtATime}.start),
		fault("HTTP/2 goes past", "A second listener was added later, and serves the application without the middleware.",
			by("RACE-05"), recipe{decisions: func(d *Decisions) {
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) { return m.Claim(life, id, asked) }
				d.Key = func(r *http.Request) (string, error) {
					if r.ProtoMajor == 2 {
						return "", errNoKey
					}
					return ReadKey(r)
				}
			}}.start),
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
