package semel_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/memdb"
	"github.com/semel-dev/semel/outcomelog"
	"github.com/semel-dev/semel/store/memstore"
)

// secretAnswer must not be readable in a store.
const secretAnswer = "IBAN of the payer"

func outcomeKey(id string) semel.OutcomeKey {
	k := semel.OutcomeKey{ID: id}
	for i := range k.Key {
		k.Key[i] = byte(i) ^ id[len(id)-1]
	}
	return k
}

func sealing(ids ...string) *semel.Options {
	o := &semel.Options{Policy: semel.Policy{Wait: semel.NoWait}}
	for _, id := range ids {
		if id == "" {
			o.OutcomeKeys = append(o.OutcomeKeys, semel.OutcomeKey{})
			continue
		}
		o.OutcomeKeys = append(o.OutcomeKeys, outcomeKey(id))
	}
	return o
}

// sealed returns the record as the store keeps it, whose outcome must be
// encrypted with the key.
func sealed(t *testing.T, store semel.Store, k semel.Key, id string) semel.Record {
	t.Helper()
	rec, err := store.Lookup(t.Context(), k.Digest())
	mustSucceed(t, err)
	got, ok := semel.SealedWith(rec.Outcome)
	if !ok || got != id || bytes.Contains(rec.Outcome, []byte("IBAN")) {
		t.Errorf("the store keeps %q (key %q, sealed: %v), want it encrypted with %q", rec.Outcome, got, ok, id)
	}
	return rec
}

// However an outcome reaches the store, the store cannot read it, and callers
// of the guard can.
func TestOutcomesAreEncrypted(t *testing.T) {
	t.Parallel()
	resolve := func(s semel.Settlement) func(*testing.T, *semel.Guard, *memdb.DB) {
		return func(t *testing.T, g *semel.Guard, _ *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("reset"))
			rec, err := operate(g).Resolve(t.Context(), alice, testKey("a").Digest(), mustLookup(t, g, testKey("a")).Fence, s)
			if err != nil || !bytes.Equal(rec.Outcome, s.Outcome) {
				t.Fatalf("got %q, %v", rec.Outcome, err)
			}
		}
	}
	answer := []byte(secretAnswer)
	policy := semel.Policy{MaxOutcomeBytes: len(answer)} // the plain bytes count
	for name, tt := range map[string]struct {
		settle func(*testing.T, *semel.Guard, *memdb.DB)
		want   error // of the replay: the outcome is a summary then
	}{
		"complete": {settle: func(t *testing.T, g *semel.Guard, _ *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("a")).Complete(answer, nil))
		}},
		"complete without": {want: semel.ErrNotKept, settle: func(t *testing.T, g *semel.Guard, _ *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("a")).CompleteWithout(answer))
		}},
		"too large": {want: semel.ErrNotKept, settle: func(t *testing.T, g *semel.Guard, _ *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("a")).Complete(make([]byte, len(answer)+1), answer))
		}},
		"transaction": {settle: func(t *testing.T, g *semel.Guard, db *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustBeginTx(t, g, db, "a").Complete(answer, nil))
		}},
		"transaction, without": {want: semel.ErrNotKept, settle: func(t *testing.T, g *semel.Guard, db *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustBeginTx(t, g, db, "a").CompleteWithout(answer))
		}},
		"transaction, final": {settle: func(t *testing.T, g *semel.Guard, db *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustBeginTx(t, g, db, "a").Final(answer, nil))
		}},
		"reconciled": {settle: func(t *testing.T, g *semel.Guard, _ *memdb.DB) {
			t.Helper()
			mustSucceed(t, mustClaim(t, g, testKey("a")).Unknown("reset"))
			p := g.Policy()
			p.OnUnknown, p.Reconcile = semel.Reconcile, func(context.Context, semel.Record) (semel.Reconciliation, error) {
				return semel.Reconciliation{Verdict: semel.Happened, Outcome: answer, Kept: true}, nil
			}
			asking, err := g.With(p)
			mustSucceed(t, err)
			mustReplay(t, asking, testKey("a"), secretAnswer)
		}},
		"resolved":          {settle: resolve(semel.Settlement{State: semel.StateCompleted, Note: "looked up", Outcome: answer, Kept: true})},
		"resolved, summary": {want: semel.ErrNotKept, settle: resolve(semel.Settlement{State: semel.StateCompleted, Note: "looked up", Outcome: answer})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := sealing("k1")
			opts.Policy.MaxOutcomeBytes = policy.MaxOutcomeBytes
			var recorded int
			opts.Trace = &semel.Trace{Settled: func(_ context.Context, i semel.SettleInfo) { recorded = i.Bytes }}
			db, _, g := openTx(t, memdb.Options{}, opts)
			tt.settle(t, g, db)
			if recorded > len(answer) {
				t.Errorf("the trace says %d bytes, want those of the answer, %d", recorded, len(answer))
			}
			sealed(t, db, testKey("a"), "k1")
			if tt.want == nil {
				mustReplay(t, g, testKey("a"), secretAnswer)
				mustReplayTx(t, g, db, "a", secretAnswer)
			} else if e := mustRefuse(t, g, testKey("a"), tt.want); e.Record == nil || string(e.Record.Outcome) != secretAnswer {
				t.Errorf("got %+v, want the summary", e.Record)
			}
			if rec, err := g.Lookup(t.Context(), testKey("a")); err != nil || string(rec.Outcome) != secretAnswer {
				t.Errorf("look up: got %q, %v", rec.Outcome, err)
			}
		})
	}
}

func mustReplayTx(t *testing.T, g *semel.Guard, tr semel.Transactor, name, want string) {
	t.Helper()
	claim, rec, err := g.BeginTx(t.Context(), tr, testKey(name), testFingerprint())
	if err != nil || rec == nil || string(rec.Outcome) != want {
		t.Errorf("got claim %v, record %+v, error %v; want a replay", claim, rec, err)
	}
}

// A store that has no room for the outcome gets the summary, encrypted too.
func TestSealedSummaryWhenTheStoreIsFull(t *testing.T) {
	t.Parallel()
	store := newHooked()
	g := newGuard(t, store, sealing("k1"))
	store.set(store.before, "settle", times(1, semel.ErrFull))
	mustSucceed(t, mustClaim(t, g, testKey("a")).Complete([]byte("long"), []byte(secretAnswer)))
	sealed(t, store, testKey("a"), "k1")
	if e := mustRefuse(t, g, testKey("a"), semel.ErrNotKept); string(e.Record.Outcome) != secretAnswer {
		t.Errorf("got %q, want the summary", e.Record.Outcome)
	}
}

// An outcome key is replaced in steps, and every step replays what the others
// recorded.
func TestOutcomeKeyRotation(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	steps := [][]string{{}, {"", "k1"}, {"k1"}, {"k1", "k2"}, {"k2", "k1"}, {"k2"}, {"", "k2"}, {}}
	var guards []*semel.Guard
	for i, ids := range steps {
		guards = append(guards, newGuard(t, store, sealing(ids...)))
		name := fmt.Sprint("step ", i)
		mustSucceed(t, mustClaim(t, guards[i], testKey(name)).Complete([]byte(name), nil))
		if encrypts := len(ids) > 0 && ids[0] != ""; guards[i].Seals() != encrypts {
			t.Errorf("step %d seals: %v, want %v", i, !encrypts, encrypts)
		} else if encrypts {
			sealed(t, store, testKey(name), ids[0])
		}
	}
	for i, ids := range steps {
		for by, has := range steps {
			name := fmt.Sprint("step ", i)
			if len(ids) == 0 || ids[0] == "" || slices.Contains(has, ids[0]) {
				mustReplay(t, guards[by], testKey(name), name)
			} else if by == i-1 || by == i+1 {
				t.Errorf("step %d cannot read step %d", by, i)
			} else {
				mustRefuse(t, guards[by], testKey(name), semel.ErrUnreadable)
			}
		}
	}
}

// Promise 3: an intent whose outcome cannot be read was executed. It is neither
// replayed nor executed again, and operators learn of it.
func TestSealedOutcomeWithoutItsKey(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][]string{"no key": {}, "another key": {"k2"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, _, owner := openTx(t, memdb.Options{}, sealing("k1"))
			mustSucceed(t, mustClaim(t, owner, testKey("a")).Complete([]byte(secretAnswer), nil))
			mustSucceed(t, mustClaim(t, owner, testKey("b")).CompleteWithout([]byte(secretAnswer)))
			opts := sealing(ids...)
			var told []semel.BeginInfo
			opts.Trace = &semel.Trace{Began: func(_ context.Context, i semel.BeginInfo) { told = append(told, i) }}
			g := newGuard(t, db, opts)
			for _, e := range []*semel.Error{
				mustRefuse(t, g, testKey("a"), semel.ErrUnreadable), mustRefuseTx(t, g, db, "a", semel.ErrUnreadable),
			} {
				if e.Retryable() || e.RetryAfter != 0 || e.Record == nil || e.Record.Outcome != nil || e.Record.State != semel.StateCompleted {
					t.Errorf("got %+v with %+v, want a final refusal without the ciphertext", e, e.Record)
				}
				if !strings.Contains(e.Error(), `key "k1"`) || !strings.Contains(e.Advice(), "was done") {
					t.Errorf("got %v: %s; want the id of the key, and that it was done", e, e.Advice())
				}
			}
			// A summary that cannot be read changes nothing about the answer.
			if e := mustRefuse(t, g, testKey("b"), semel.ErrNotKept); e.Record == nil || e.Record.Outcome != nil || !strings.Contains(e.Error(), `"k1"`) {
				t.Errorf("got %v with %+v, want no ciphertext", e, e.Record)
			}
			want := []outcomelog.Outcome{outcomelog.Unreadable, outcomelog.Unreadable, outcomelog.NotKept}
			for i, info := range told {
				if info.Outcome != want[i] || !errors.Is(info.Err, semel.ErrUnreadable) || info.Fence == 0 {
					t.Errorf("told %+v, want %s with its reason and fence", info, want[i])
				}
			}
			if _, err := semel.Do(t.Context(), g, testKey("a"), testFingerprint(), func(context.Context) (int, error) {
				t.Error("executed again")
				return 0, nil
			}); !errors.Is(err, semel.ErrUnreadable) {
				t.Errorf("got %v", err)
			}
			rec, err := g.Lookup(t.Context(), testKey("a"))
			if !errors.Is(err, semel.ErrUnreadable) || rec.State != semel.StateCompleted || rec.Outcome != nil {
				t.Errorf("look up: got %+v, %v; want the record without its outcome", rec, err)
			}
			if rec, err := operate(g).Resolve(t.Context(), alice, rec.Digest, rec.Fence, semel.Settlement{State: semel.StateReleased, Note: "not there"}); !errors.Is(err, semel.ErrSettled) || rec.Outcome != nil {
				t.Errorf("resolve: got %q, %v; want ErrSettled and no ciphertext", rec.Outcome, err)
			}
		})
	}
}

// doctored is a store whose rows an attacker changes.
type doctored struct {
	*memstore.Store
	change func(*semel.Record)
}

func (d *doctored) Claim(ctx context.Context, p semel.ClaimParams) (semel.Record, bool, error) {
	rec, won, err := d.Store.Claim(ctx, p)
	d.change(&rec)
	return rec, won, err
}

// A ciphertext belongs to its record: changed, cut off, or copied from another
// record, it is refused and not replayed.
func TestSealedOutcomeIsBoundToItsRecord(t *testing.T) {
	t.Parallel()
	store := &doctored{Store: memstore.New(nil), change: func(*semel.Record) {}}
	g := newGuard(t, store, sealing("k1", "l1")) // two ids with one key's bytes
	for _, name := range []string{"a", "b"} {
		mustSucceed(t, mustClaim(t, g, testKey(name)).Complete([]byte(secretAnswer), nil))
	}
	mustSucceed(t, mustClaim(t, g, testKey("c")).CompleteWithout([]byte(secretAnswer)))
	own, other := sealed(t, store, testKey("a"), "k1"), sealed(t, store, testKey("b"), "k1")
	if bytes.Equal(own.Outcome[len(own.Outcome)-8:], other.Outcome[len(other.Outcome)-8:]) {
		t.Error("equal answers have equal ciphertexts")
	}
	refuse := func(what string, change func(*semel.Record)) {
		t.Helper()
		store.change = change
		claim, rec, err := g.Begin(t.Context(), testKey("a"), testFingerprint())
		if claim != nil || rec != nil || !errors.Is(err, semel.ErrUnreadable) {
			t.Errorf("%s: got claim %v, record %v, error %v; want ErrUnreadable", what, claim, rec, err)
		}
	}
	refuse("another record's", func(r *semel.Record) { r.Outcome = other.Outcome })
	summary := sealed(t, store, testKey("c"), "k1")
	refuse("a summary that claims to be the answer", func(r *semel.Record) { r.Outcome = summary.Outcome })
	refuse("another key's id", func(r *semel.Record) { r.Outcome = bytes.Replace(own.Outcome, []byte("k1"), []byte("l1"), 1) })
	refuse("the same with more", func(r *semel.Record) { r.Outcome = append(bytes.Clone(own.Outcome), 0) })
	const mark = 6
	for i := mark; i < len(own.Outcome); i++ {
		refuse(fmt.Sprint("byte ", i), func(r *semel.Record) {
			r.Outcome = bytes.Clone(own.Outcome)
			r.Outcome[i] ^= 0x10
		})
		refuse(fmt.Sprint("cut at ", i), func(r *semel.Record) { r.Outcome = own.Outcome[:i] })
	}
	store.change = func(*semel.Record) {}
	mustReplay(t, g, testKey("a"), secretAnswer)
	// A kept answer that claims to be a summary is not shown as one.
	store.change = func(r *semel.Record) { r.Kept = false }
	if e := mustRefuse(t, g, testKey("a"), semel.ErrNotKept); e.Record.Outcome != nil {
		t.Errorf("got %q", e.Record.Outcome)
	}
}

// settlements remembers the bytes of every Settle.
type settlements struct {
	*hooked
	mu   sync.Mutex // guards sent
	sent [][]byte
}

func (s *settlements) Settle(ctx context.Context, d semel.Digest, f semel.Fence, v semel.Settlement) error {
	s.mu.Lock()
	s.sent = append(s.sent, bytes.Clone(v.Outcome))
	s.mu.Unlock()
	return s.hooked.Settle(ctx, d, f, v)
}

// A settlement whose reply was lost is repeated with the same bytes; a store
// refuses any other.
func TestSealedOnceForASettlement(t *testing.T) {
	t.Parallel()
	store := &settlements{hooked: newHooked()}
	g := newGuard(t, store, sealing("k1"))
	store.set(store.after, "settle", times(3, errBroken))
	mustSucceed(t, mustClaim(t, g, testKey("a")).Complete([]byte(secretAnswer), nil))
	if len(store.sent) != 4 {
		t.Fatalf("%d settlements were sent, want 4", len(store.sent))
	}
	for _, sent := range store.sent {
		if !bytes.Equal(sent, store.sent[0]) {
			t.Errorf("sent %x after %x, want the same", sent, store.sent[0])
		}
	}
	mustReplay(t, g, testKey("a"), secretAnswer)
}

// A guard distinguishes a plain outcome that looks sealed from a sealed one, with
// keys and without.
func TestOutcomeThatLooksSealed(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	g := newGuard(t, store, sealing("k1"))
	mustSucceed(t, mustClaim(t, g, testKey("a")).Complete([]byte(secretAnswer), nil))
	forged := string(sealed(t, store, testKey("a"), "k1").Outcome)
	bare := newGuard(t, store, sealing())
	for i, outcome := range []string{"", "\xff", forged[:6], forged[:7], forged, forged[:6] + "\x00" + forged} {
		name := fmt.Sprint("forged ", i)
		mustSucceed(t, mustClaim(t, bare, testKey(name)).Complete([]byte(outcome), nil))
		mustReplay(t, bare, testKey(name), outcome)
		mustReplay(t, g, testKey(name), outcome)
		mustSucceed(t, mustClaim(t, g, testKey(name+" with a key")).Complete([]byte(outcome), nil))
		mustReplay(t, g, testKey(name+" with a key"), outcome)
	}
}

// What was sealed by this version is read by later ones.
func TestSealedVector(t *testing.T) {
	t.Parallel()
	const vector = "ff53454d454c01026b31d599954939492265a80566e47ea08c66aaadceb5ac7901a6aa2e4b849997e398d13f62c55279126c69f6239e74"
	stored, err := hex.DecodeString(vector)
	mustSucceed(t, err)
	g := newGuard(t, memstore.New(nil), sealing("k1"))
	rec := semel.Record{Digest: testKey("vector").Digest(), State: semel.StateCompleted, Kept: true, Outcome: stored}
	if err := g.Reveal(&rec); err != nil || string(rec.Outcome) != secretAnswer {
		t.Errorf("got %q, %v", rec.Outcome, err)
	}
	rec.Outcome = []byte("\xffSEMEL\x02from a later version")
	if err := g.Reveal(&rec); !errors.Is(err, semel.ErrUnreadable) || rec.Outcome != nil {
		t.Errorf("got %q, %v; want ErrUnreadable", rec.Outcome, err)
	}
}

// recording is a transaction whose outcome the database makes.
type recording struct{ semel.Tx }

func (recording) MakesOutcome() {}

type recorder struct{ semel.Transactor }

func (r recorder) Transaction(ctx context.Context) (semel.Tx, error) {
	tx, err := r.Transactor.Transaction(ctx)
	return recording{tx}, err
}

func TestSealingRefusesADatabaseThatRecords(t *testing.T) {
	t.Parallel()
	db, _, g := openTx(t, memdb.Options{}, sealing("k1"))
	claim, rec, err := g.BeginTx(t.Context(), recorder{db}, testKey("a"), testFingerprint())
	if claim != nil || rec != nil || err == nil || !strings.Contains(err.Error(), "cannot encrypt") {
		t.Errorf("got claim %v, record %v, error %v; want a refusal", claim, rec, err)
	}
}

// A key that is printed by mistake shows its id.
func TestOutcomeKeyDoesNotPrint(t *testing.T) {
	t.Parallel()
	k := outcomeKey("k1")
	options := semel.Options{OutcomeKeys: []semel.OutcomeKey{k}}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("key", slog.Any("key", k), slog.Any("pointer", &k), slog.Any("options", options.OutcomeKeys))
	}
	asJSON, err := json.Marshal(options.OutcomeKeys)
	mustSucceed(t, err)
	said := []string{log.String(), string(asJSON), fmt.Sprint(options.OutcomeKeys)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		said = append(said, fmt.Sprintf(verb, k), fmt.Sprintf(verb, &k), fmt.Sprintf(verb, options.OutcomeKeys))
	}
	for _, text := range said {
		for _, leak := range []string{hex.EncodeToString(k.Key[:4]), fmt.Sprintf("%d", k.Key[:4])[1:8], fmt.Sprint(k.Key[0], ",", k.Key[1]), "0x31, 0x30"} {
			if strings.Contains(strings.ToLower(text), leak) {
				t.Errorf("%q shows the key", text)
			}
		}
		if !strings.Contains(text, "k1") {
			t.Errorf("%q does not show the id", text)
		}
	}
}
