package faulty

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel/check"
)

// storingFaults end claims wrongly after failures, refusals, and lost connections.
func storingFaults() []Service {
	return []Service{
		fault("a client that hangs up is forgotten", "The answer is saved under the request's context, which ends when the client is gone: no record, and the retry runs.",
			by("LOST-03").perhaps("LOST-07"), recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				right := d.Settle
				d.Settle = func(d *Door, r *http.Request, rec *Record, got *Answer) {
					if gone(r) {
						d.memory.Settle(rec, nil)
						return
					}
					right(d, r, rec, got)
				}
			}}.start),
		fault("a client that hangs up is locked out", "The work ends with the connection, and so does the line that would have freed the key: 409 for ever.",
			by("LOST-03").perhaps("LOST-07"), impatient(recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				right := d.Settle
				d.Wait = 100 * time.Millisecond
				d.Context = func(_ Life, r *http.Request) (context.Context, context.CancelFunc) {
					return context.WithCancel(r.Context())
				}
				d.Settle = func(d *Door, r *http.Request, rec *Record, got *Answer) {
					if gone(r) {
						return
					}
					right(d, r, rec, got)
				}
			}}.start)),
		fault("half a body is a body", "The middleware uses what it could read and ignores the error: an interrupted upload blocks the key.",
			by("LOST-02", "LOST-09"), recipe{decisions: func(d *Decisions) {
				d.Read = func(r *http.Request) ([]byte, error) {
					var body bytes.Buffer
					_, err := body.ReadFrom(http.MaxBytesReader(nil, r.Body, maxBody))
					if body.Len() == 0 {
						return nil, err
					}
					return body.Bytes(), nil
				}
			}}.start),
		fault("half a head is a request", "A gateway completes a truncated head and passes it on, and the key is taken before the body, which never comes.",
			by("LOST-01", "LOST-02", "LOST-09"), recipe{front: generous, decisions: func(d *Decisions) {
				d.Read = func(r *http.Request) ([]byte, error) {
					var body bytes.Buffer
					_, _ = body.ReadFrom(http.MaxBytesReader(nil, r.Body, maxBody))
					return body.Bytes(), nil
				}
			}}.start),
	}
}

// failingFaults end claims wrongly after failures and refusals, lose them, or never had one.
func failingFaults() []Service {
	return []Service{
		fault("500 after the effect is forgotten", "A failure is treated as no effect, but the row was written before the mail failed, and the retry writes another.",
			by("ERR-03"), recipe{behaviour: Behaviour{Breaks: true}}.start),
		fault("failures are for ever", "All answers are stored, even that of a dependency that was down for a second: the key never succeeds.",
			by("ERR-06"), paying(recipe{decisions: func(d *Decisions) { d.Keeps = func(*Answer) bool { return true } }})),
		fault("a refused order is done", "The key is always marked as done: a corrected order gets a success, and is never made.",
			by("ERR-01", "ERR-02"), recipe{decisions: func(d *Decisions) {
				right := d.Settle
				d.Settle = func(d *Door, r *http.Request, rec *Record, got *Answer) {
					if got.Status >= 400 && got.Status < 500 {
						rec.refused.Store(true)
					}
					right(d, r, rec, got)
				}
				claimed := d.Claim
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
					rec, mine := claimed(m, life, id, asked)
					if !mine && rec.refused.Load() {
						return doneAlready(asked), false
					}
					return rec, mine
				}
			}}.start),
		fault("open when the store is busy", "No connection to the store is free, so the layer lets requests pass: duplicates run.",
			by("RACE-02", "RACE-03", "RACE-04", "RACE-05", "RACE-06"), recipe{decisions: func(d *Decisions) {
				var busy atomic.Int64
				d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
					defer busy.Add(-1)
					if busy.Add(1) > poolSize {
						return &Record{id: id, asked: asked, life: life, done: make(chan struct{})}, true
					}
					lag()
					return m.Claim(life, id, asked)
				}
			}}.start),
		fault("the lease is shorter than the work", "A lock with a time to live is never renewed: a request that takes longer runs twice at once.",
			by("RACE-09").perhaps("LOST-07", "LOST-10"), recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				d.Wait = 30 * time.Millisecond
				d.InFlight = func(d *Door, w http.ResponseWriter, rec *Record) {
					d.memory.forget(rec.id)
					d.comeAgain(w, "in-flight: the first one is still running")
				}
			}}.start),
		fault("the late one has the last word", "A slow holder is replaced, and still finishes: UPDATE … WHERE key = ?, without checking that it still holds the claim.",
			by("RACE-02", "RACE-03", "RACE-04", "RACE-05", "RACE-06", "RACE-09").perhaps("LOST-07", "LOST-10"),
			recipe{behaviour: unhurried(), decisions: func(d *Decisions) {
				busy(func(d *Door, w http.ResponseWriter, rec *Record) {
					d.memory.forget(rec.id)
					d.comeAgain(w, "in-flight: the first one is still running")
				})(d)
				d.Settle = func(d *Door, _ *http.Request, rec *Record, got *Answer) {
					if !d.Keeps(got) {
						d.memory.Settle(rec, nil)
						return
					}
					d.memory.overwrite(rec, got.kept())
				}
			}}.start),
	}
}

// poolSize is the number of store connections of a busy layer.
const poolSize = 4

// gone reports whether the client is gone, which the server needs a moment to see.
func gone(r *http.Request) bool {
	return !within(r.Context(), 5*time.Millisecond)
}

// doneAlready returns the record of something that was done, with an empty answer.
func doneAlready(asked string) *Record {
	rec := &Record{asked: asked, done: make(chan struct{}), answer: &Answer{Status: http.StatusOK}}
	close(rec.done)
	return rec
}

// payments is the shop's dependency for each order. It can be made to fail.
type payments struct{ failing atomic.Int64 }

// FailNext implements [check.Dependency].
func (p *payments) FailNext(n, _ int) { p.failing.Store(int64(n)) }

var errAway = errors.New("the payment service does not answer")

func (p *payments) pay(context.Context) error {
	for {
		left := p.failing.Load()
		if left <= 0 {
			return nil
		}
		if p.failing.CompareAndSwap(left, left-1) {
			return errAway
		}
	}
}

func paying(h recipe) func() (Running, error) {
	return func() (Running, error) {
		desk := &payments{}
		h.behaviour.Ask = desk.pay
		h.change = func(c *check.Config) { c.Observed = desk }
		return h.start()
	}
}

var _ check.Dependency = (*payments)(nil)
