package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel"
)

// The times of a history that is written by hand are milliseconds of the
// store's clock, which is that of the machine.
const (
	leaseMS    = 100
	retainedMS = 10_000
)

// script is a history that is written by hand, of one intent.
type script struct{ steps []storeOperation }

func (s *script) add(from, to int64, in call, out *reply) *script {
	st := storeOperation{Client: len(s.steps), Called: from * 1e6, Call: in, Reply: out}
	if out != nil {
		st.Ended = to * 1e6
	}
	s.steps = append(s.steps, st)
	return s
}

// claims wins at an instant.
func (s *script) claims(at int64, owner string, fence semel.Fence, attempt int, over semel.Fence) *script {
	return s.add(at, at+1, claimOf(owner, over), &reply{Won: true, Seen: heldBy(owner, fence, attempt, at)})
}

func (s *script) renews(at int64, fence semel.Fence, err string) *script {
	return s.add(at, at+1, call{Verb: renew, Fence: fence, Lease: leaseMS}, &reply{Err: err})
}

func (s *script) settles(at int64, fence semel.Fence, to semel.State, outcome, err string) *script {
	in := call{Verb: settle, Fence: fence, To: to, Outcome: outcome, Kept: outcome != "", Retention: retainedMS}
	return s.add(at, at+1, in, &reply{Err: err})
}

func (s *script) shows(at int64, r *seen) *script {
	return s.add(at, at+1, call{Verb: lookup}, &reply{Seen: readAt(r, at)})
}

func readAt(r *seen, at int64) *seen {
	r.Read = at
	return r
}

func (s *script) misses(at int64) *script {
	return s.add(at, at+1, call{Verb: lookup}, &reply{Err: wordNotFound})
}

func claimOf(owner string, over semel.Fence) call {
	return call{Verb: claim, Owner: owner, Fence: over, Lease: leaseMS, Retention: retainedMS}
}

// heldBy returns a record that was claimed at an instant.
func heldBy(owner string, fence semel.Fence, attempt int, at int64) *seen {
	return &seen{
		State: semel.StateClaimed, Fence: fence, Owner: owner, Attempt: attempt, Claimed: at,
		Lease: at + leaseMS, Expires: at + leaseMS + retainedMS, Read: at,
	}
}

// ended returns a record that was settled at an instant.
func ended(r *seen, to semel.State, outcome string, at int64) *seen {
	r.State, r.Outcome, r.Kept, r.Settled, r.Expires = to, outcome, outcome != "", at, at+retainedMS
	return r
}

func begin() *script { return &script{} }

// first returns the claim that most histories begin with.
func first() *script { return begin().claims(1000, "a", 5, 1, 0) }

func completedAt(at int64, outcome string) *seen {
	return ended(heldBy("a", 5, 1, 1000), semel.StateCompleted, outcome, at)
}

// honest returns histories of a store that keeps its promises.
func honest() map[string]*script {
	lost := func(s *script) *script { return s.add(1300, 0, claimOf("b", 5), nil) }
	return map[string]*script{
		"a life": first().renews(1050, 5, "").settles(1100, 5, semel.StateCompleted, "x", "").
			shows(1200, completedAt(1100, "x")).settles(1300, 5, semel.StateCompleted, "x", "").
			settles(1301, 5, semel.StateCompleted, "y", wordSettled).misses(1100+retainedMS+slack).
			claims(1200+retainedMS+slack, "b", 6, 1, 0),
		"released":               first().settles(1050, 5, semel.StateReleased, "", "").misses(1060).renews(1070, 5, wordLost).claims(1080, "b", 6, 1, 5),
		"lapsed and taken over":  first().claims(1200, "b", 6, 2, 5).renews(1210, 5, wordLost).settles(1220, 5, semel.StateCompleted, "x", wordLost),
		"late holder":            first().renews(1500, 5, "").settles(1700, 5, semel.StateUnknown, "", "").claims(1710, "b", 9, 2, 5),
		"repeated by its owner":  first().add(1010, 1011, claimOf("a", 0), &reply{Won: true, Seen: heldBy("a", 5, 1, 1000)}),
		"lost reply was taken":   lost(first()).shows(1400, heldBy("b", 6, 2, 1310)).settles(1410, 5, semel.StateReleased, "", wordLost),
		"lost reply was not":     lost(first()).shows(1400, heldBy("a", 5, 1, 1000)).renews(1410, 5, ""),
		"error was taken":        begin().add(1000, 1001, claimOf("a", 0), &reply{Err: "error: connection reset"}).shows(1100, heldBy("a", 5, 1, 1000)),
		"lost settle later":      first().add(1010, 0, call{Verb: settle, Fence: 5, To: semel.StateReleased}, nil).renews(1020, 5, "").misses(1100),
		"unseen fence is shown":  begin().add(1000, 0, claimOf("a", 0), nil).renews(1100, 7, "").settles(1150, 7, semel.StateReleased, "", ""),
		"two at a time, one won": first().add(1000, 1003, claimOf("b", 0), &reply{Seen: heldBy("a", 5, 1, 1000)}),
	}
}

// wrong returns histories that no honest store has, by their fault.
func wrong() map[string]*script {
	short := heldBy("a", 5, 1, 1000)
	short.Lease -= 40
	short.Expires -= 40
	return map[string]*script{
		"stale settle accepted":       first().claims(1200, "b", 6, 2, 5).settles(1210, 5, semel.StateCompleted, "x", ""),
		"stale renewal accepted":      first().claims(1200, "b", 6, 2, 5).renews(1210, 5, ""),
		"stale release accepted":      first().claims(1200, "b", 6, 2, 5).settles(1210, 5, semel.StateReleased, "", ""),
		"two winners":                 first().claims(1010, "b", 6, 1, 0),
		"two winners at once":         begin().add(1000, 1020, claimOf("a", 0), &reply{Won: true, Seen: heldBy("a", 5, 1, 1005)}).add(1001, 1021, claimOf("b", 0), &reply{Won: true, Seen: heldBy("b", 6, 1, 1006)}),
		"taken over too early":        first().claims(1060, "b", 6, 2, 5),
		"taken over by a wrong fence": first().claims(1200, "b", 6, 2, 4),
		"taken over when completed":   first().settles(1010, 5, semel.StateCompleted, "x", "").claims(1500, "b", 6, 2, 5),
		"outcome changed":             first().settles(1010, 5, semel.StateCompleted, "x", "").shows(1100, completedAt(1010, "x")).shows(1200, completedAt(1010, "y")),
		"outcome overwritten":         first().settles(1010, 5, semel.StateCompleted, "x", "").settles(1020, 5, semel.StateCompleted, "y", ""),
		"outcome forgotten":           first().settles(1010, 5, semel.StateCompleted, "x", "").misses(2000),
		"executed again":              first().settles(1010, 5, semel.StateCompleted, "x", "").claims(2000, "b", 6, 1, 0),
		"crash forgot a claim":        first().misses(1050),
		"released and still there":    first().settles(1010, 5, semel.StateReleased, "", "").shows(1100, heldBy("a", 5, 1, 1000)),
		"renewal forgotten":           first().renews(1090, 5, "").shows(1095, heldBy("a", 5, 1, 1000)),
		"lease shorter than asked":    begin().add(1000, 1001, claimOf("a", 0), &reply{Won: true, Seen: short}),
		"fence of the past":           first().settles(1010, 5, semel.StateReleased, "", "").claims(1100, "b", 4, 1, 0),
		"fence given again":           first().settles(1010, 5, semel.StateReleased, "", "").claims(1100, "b", 5, 1, 0),
		"shown after its expiry":      first().settles(1010, 5, semel.StateCompleted, "x", "").shows(1011+retainedMS, completedAt(1010, "x")),
		"repetition refused":          first().add(1010, 1011, claimOf("a", 0), &reply{Seen: heldBy("a", 5, 1, 1000)}),
		"read at a wrong time":        first().add(1010, 1011, call{Verb: lookup}, &reply{Seen: readAt(heldBy("a", 5, 1, 1000), 1090)}),
		"shown with another attempt":  first().shows(1010, heldBy("a", 5, 2, 1000)),
		"clock out of the machine's":  begin().add(1000, 1001, claimOf("a", 0), &reply{Won: true, Seen: heldBy("a", 5, 1, 9000)}),
		"settled twice, not told":     first().settles(1010, 5, semel.StateCancelled, "", "").settles(1020, 5, semel.StateReleased, "", ""),
		"lost although held":          first().renews(1010, 5, wordLost),
		"attempts not counted on":     first().claims(1200, "b", 6, 1, 5),
	}
}

func judged(t *testing.T, s *script) result {
	t.Helper()
	dir := t.TempDir()
	var j result
	noError(t, judge(&j, s.steps, &clocks{}, dir))
	pictures, err := filepath.Glob(filepath.Join(dir, "intent-*.html"))
	noError(t, err)
	if broken := strings.Contains(strings.Join(j.violations, "\n"), "no order"); broken != (len(pictures) == 1) {
		t.Errorf("violations %q, and these pictures: %v", j.violations, pictures)
	}
	return j
}

// The judge must neither accuse an honest store nor believe a broken one.
func TestHonestHistories(t *testing.T) {
	t.Parallel()
	for name, s := range honest() {
		if j := judged(t, s); len(j.violations) > 0 || j.undecided > 0 || j.histories != 1 {
			t.Errorf("%s: %+v", name, j)
		}
	}
}

func TestWrongHistories(t *testing.T) {
	t.Parallel()
	for name, s := range wrong() {
		if j := judged(t, s); !strings.Contains(strings.Join(j.violations, "\n"), "no order") {
			t.Errorf("%s: not noticed: %+v", name, j)
		}
	}
}

// Where the store's clock jumps, only times from the store count: a claim is
// still not taken over before its lease ended.
func TestJumpingClock(t *testing.T) {
	t.Parallel()
	c := &clocks{ahead: time.Hour.Milliseconds(), behind: time.Hour.Milliseconds()}
	later := int64(6000) // five seconds of the jumping clock after the claim
	takeover := func(at int64) *script {
		return first().add(1010, 1011, claimOf("b", 5), &reply{Won: true, Seen: heldBy("b", 6, 2, at)})
	}
	for at, want := range map[int64]int{later: 0, 1099: 1} {
		var j result
		err := judge(&j, takeover(at).steps, c, t.TempDir())
		if err != nil || len(j.violations) != want {
			t.Errorf("taken over at %d: error %v, %v, want %d violations", at, err, j.violations, want)
		}
	}
}

// Where the server removes what has expired, a record that expired while the
// clock was ahead stays away when that is set back; elsewhere it does not.
func TestExpiredWhileTheClockWasAhead(t *testing.T) {
	t.Parallel()
	s := first().settles(1010, 5, semel.StateCompleted, "x", "").shows(1020, completedAt(1010, "x")).claims(2000, "b", 6, 1, 0)
	for removes, want := range map[bool]int{true: 0, false: 1} {
		c := &clocks{ahead: time.Hour.Milliseconds(), behind: time.Hour.Milliseconds(), removes: removes}
		var j result
		err := judge(&j, s.steps, c, t.TempDir())
		if err != nil || len(j.violations) != want {
			t.Errorf("removes %v: error %v, %v, want %d violations", removes, err, j.violations, want)
		}
	}
}

func TestFences(t *testing.T) {
	t.Parallel()
	on := func(key int, s *script) []storeOperation {
		for i := range s.steps {
			s.steps[i].Call.Key = key
		}
		return s.steps
	}
	one := func(key int, at int64, owner string, fence semel.Fence) []storeOperation {
		return on(key, begin().claims(at, owner, fence, 1, 0))
	}
	for _, c := range []struct {
		name  string
		steps [][]storeOperation
		want  string
	}{
		{"they grow", [][]storeOperation{one(1, 1000, "a", 5), one(2, 1010, "b", 6)}, ""},
		{"side by side they need not", [][]storeOperation{one(1, 1000, "a", 6), one(2, 1000, "b", 5)}, ""},
		{"twice", [][]storeOperation{one(1, 1000, "a", 5), one(2, 1010, "b", 5)}, "given twice"},
		{"shrinking", [][]storeOperation{one(1, 1000, "a", 6), one(2, 1010, "b", 5)}, "had been shown"},
	} {
		var steps []storeOperation
		for _, s := range c.steps {
			steps = append(steps, s...)
		}
		got := strings.Join(checkFences(steps), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// What a killed process wrote can be read up to where it was killed, and a
// question without an answer stays open.
func TestTornRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	events, err := newRecorder[call, reply](dir)
	noError(t, err)
	in := call{Verb: renew, Key: 3, Fence: 7, Lease: leaseMS}
	if _, err := events.record(1, in, func() reply { return reply{Err: wordLost} }); err != nil {
		t.Fatal(err)
	}
	noError(t, events.write(event[call, reply]{ID: 9, Client: 2, At: monotonic(), Call: &in}))
	if _, err := events.out.Write([]byte(`{"id":9,"client":2,"rep`)); err != nil {
		t.Fatal(err)
	}
	steps, err := readSteps[call, reply](dir)
	if err != nil || len(steps) != 2 {
		t.Fatalf("got %+v, error %v, want two steps", steps, err)
	}
	if s := steps[0]; s.Reply == nil || s.Reply.Err != wordLost || s.Call != in || s.Ended < s.Called {
		t.Errorf("got %+v, want a renewal that was lost", s)
	}
	if s := steps[1]; s.Reply != nil || s.Client != 2 {
		t.Errorf("got %+v, want no answer", s)
	}
	if err := events.out.(*os.File).Close(); err != nil {
		t.Error(err)
	}
}
