package faulty

import (
	"errors"
	"net/http"
	"slices"
	"time"
)

// Door makes requests with a key happen once. It is safe for concurrent use.
//
//	key ─ body ─ fingerprint ─ Claim ─┬─ mine: the handler runs, its answer is recorded, and then sent
//	 │     │                          ├─ another request: 422
//	 ▼     ▼                          ├─ running: wait, or 409
//	400   413                         └─ done: the recorded answer, or 409 if duplicates are only stopped
//
// Each step follows one of its [Decisions]; [Correct] returns correct ones.
type Door struct {
	Decisions
	life   Life // of the process; its end is a crash
	memory *Memory
	next   http.Handler
}

// NewDoor returns a door in front of next that keeps its records in memory, which may be that of an earlier door. When
// life ends it stops in the middle of its work.
func NewDoor(life Life, memory *Memory, decisions Decisions, next http.Handler) *Door {
	memory.retention = decisions.Retention
	return &Door{Decisions: decisions, life: life, memory: memory, next: next}
}

// ServeHTTP implements [http.Handler].
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == policyPath {
		d.publish(w)
		return
	}
	if !slices.Contains(d.Methods, r.Method) {
		d.next.ServeHTTP(w, r)
		return
	}
	key, err := d.Key(r)
	switch {
	case errors.Is(err, errNoKey) && !d.Required:
		d.next.ServeHTTP(w, r)
		return
	case err != nil:
		d.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	body, err := d.Read(r)
	if err != nil {
		d.Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	r.Body = readable(body)
	d.once(w, r, d.Scope(r)+"\x00"+key, d.Fingerprint(r, body)) //nolint:contextcheck // the work outlives the caller.
}

// once runs the request, unless its key is known.
func (d *Door) once(w http.ResponseWriter, r *http.Request, id, asked string) {
	rec, mine := d.Claim(d.memory, d.life, id, asked)
	switch {
	case mine:
		d.runHandler(w, r, rec)
	case rec.asked != asked:
		d.Mismatch(d, w, r, rec)
	case d.Orphaned(rec):
		d.Refuse(w, http.StatusConflict, "outcome-unknown: the process that ran this is gone, and may have done it")
	default:
		d.repeat(w, r, rec)
	}
}

func (d *Door) repeat(w http.ResponseWriter, r *http.Request, rec *Record) {
	answer, done := rec.await(r.Context(), d.Wait)
	switch {
	case !done:
		d.InFlight(d, w, rec)
	case answer == nil: // released: nothing happened
		d.comeAgain(w, "released: nothing happened yet")
	case d.Dedup:
		d.Duplicate(d, w)
	default:
		d.Replay(w, answer)
	}
}

// runHandler executes the request. The claim ends with it, even if the handler panics.
func (d *Door) runHandler(w http.ResponseWriter, r *http.Request, rec *Record) {
	ctx, cancel := d.Context(d.life, r)
	defer cancel()
	settled := false
	defer func() {
		if !settled {
			d.memory.Settle(rec, nil)
		}
	}()
	got := &Answer{}
	d.next.ServeHTTP(d.Capture(got, w), r.WithContext(ctx))
	got.finish()
	settled = true
	d.Settle(d, r, rec, got)
	if d.life.over() {
		return // the caller is gone
	}
	d.First(w, got)
}

func (d *Door) settle(_ *http.Request, rec *Record, got *Answer) {
	if d.life.over() {
		return // a process that was killed writes nothing
	}
	if !d.Keeps(got) {
		d.memory.Settle(rec, nil)
		return
	}
	d.memory.Settle(rec, got.kept())
}

func (d *Door) comeAgain(w http.ResponseWriter, detail string) {
	w.Header().Set("Retry-After", "1")
	d.Refuse(w, http.StatusConflict, detail)
}

// policyPath is the path of the policy for callers.
const policyPath = "/.well-known/idempotency"

func (d *Door) publish(w http.ResponseWriter) {
	if d.Silent {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{
		"header": "Idempotency-Key", "required": d.Required, "retention_seconds": max(1, int(d.Retention/time.Second)),
	})
}
