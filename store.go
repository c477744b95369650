package semel

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// MaxNoteBytes is the longest [Settlement.Note], in bytes; a [Guard] cuts
// longer ones.
const MaxNoteBytes = 255

// Store remembers records. It gives data and atomicity and decides nothing:
// policy, waiting, replay and renewal live once, in [Guard]. Authors of stores
// check theirs with package storetest.
//
// Every verb is one atomic step, safe for concurrent use, and compares times
// by the store's own clock only. A record whose ExpiresAt has been reached is
// absent to every verb, whether or not it was swept away.
//
// An error that wraps none of the sentinels named below leaves open whether the
// step was taken (the context ended, the connection broke). Every verb is
// therefore safe to repeat.
type Store interface {
	// Claim tries to get the exclusive right to execute an intent.
	//
	// It wins, with a fence greater than every fence given before by this
	// store, when the record is absent; or when p.TakeOver is not zero, equals
	// the record's fence, and the record is unknown or lapsed. The record is
	// then claimed, with lease p.Lease and ExpiresAt = now + p.Lease +
	// p.Retention; a takeover keeps nothing of the former claim but counts
	// Attempt on.
	//
	// It also wins when the record is claimed, has not lapsed, and has
	// p.Owner as its owner: the repetition of a Claim whose reply was lost.
	// The record is then returned unchanged, its lease not extended.
	//
	// Otherwise nothing changes and the record is returned with won = false.
	//
	// Errors: [ErrFull] when a bound of the store is reached; an invalid
	// parameter (see [ClaimParams.Validate]).
	Claim(ctx context.Context, p ClaimParams) (rec Record, won bool, err error)

	// Renew sets the lease to now + lease and moves ExpiresAt along with it,
	// where the record is claimed and has this fence, even if it has lapsed in
	// the meantime. Otherwise, absent included, it returns [ErrLost].
	Renew(ctx context.Context, d Digest, f Fence, lease time.Duration) error

	// Settle ends the claim (or, for an unknown record, what is known of it)
	// that has this fence, lapsed or not. Completed, unknown and cancelled
	// records expire at now + s.Retention; a released one is absent at once.
	//
	// Repeated with the same fence and the same state, outcome and Kept, it
	// changes nothing and returns nil; so does releasing an absent record. Errors:
	// [ErrSettled] when this fence was settled as completed or cancelled before,
	// with another value; [ErrLost] when the record is absent or has another
	// fence; [ErrFull] when the outcome does not fit (the claim then stays as it
	// was). The store does not retain s.Outcome.
	Settle(ctx context.Context, d Digest, f Fence, s Settlement) error

	// Lookup returns the record, or [ErrNotFound] when it is absent.
	Lookup(ctx context.Context, d Digest) (Record, error)

	// Close frees what the store holds. Verbs called afterwards return
	// [ErrClosed]. A second Close returns nil.
	Close() error
}

// ClaimParams are the parameters of [Store.Claim].
type ClaimParams struct {
	Digest      Digest
	Scope       string // for operators; not part of the identity
	Name        string // for operators; not part of the identity
	Fingerprint Fingerprint
	Owner       Owner
	Lease       time.Duration // > 0, whole milliseconds
	Retention   time.Duration // > 0, whole milliseconds
	TakeOver    Fence         // 0, or the fence of the unknown or lapsed record to take over
}

// Validate reports a parameter that no store accepts.
func (p *ClaimParams) Validate() error {
	switch {
	case p.Lease < time.Millisecond:
		return fmt.Errorf("semel: lease %v is shorter than a millisecond", p.Lease)
	case p.Retention < time.Millisecond:
		return fmt.Errorf("semel: retention %v is shorter than a millisecond", p.Retention)
	case len(p.Scope) > MaxScopeBytes || len(p.Name) > MaxKeyBytes:
		return fmt.Errorf("%w: scope or name is longer than a store accepts", ErrKeyInvalid)
	}
	return nil
}

// Settlement says how a claim ends.
type Settlement struct {
	State     State         // completed, released, unknown or cancelled
	Outcome   []byte        // completed only: the answer, or what is kept of it
	Kept      bool          // completed only: Outcome is the whole answer
	Note      string        // at most MaxNoteBytes
	Retention time.Duration // > 0, whole milliseconds, unless released
}

// Validate reports a settlement that no store accepts.
func (s *Settlement) Validate() error {
	switch s.State {
	case StateReleased:
		return nil
	case StateCompleted, StateUnknown, StateCancelled:
	case StateAbsent, StateClaimed, StateFailed, StateUnreadable:
		return fmt.Errorf("semel: a claim cannot be settled as %v", s.State)
	default:
		return fmt.Errorf("semel: unknown state %d", s.State)
	}
	switch {
	case s.Retention < time.Millisecond:
		return fmt.Errorf("semel: retention %v is shorter than a millisecond", s.Retention)
	case len(s.Note) > MaxNoteBytes:
		return fmt.Errorf("semel: note has %d bytes, at most %d are kept", len(s.Note), MaxNoteBytes)
	}
	return nil
}

// Lister is implemented by stores that can show their records to operators.
type Lister interface {
	// List looks at records, the newest claim (the greatest fence) first, until
	// it has found p.Limit unexpired ones that pass the filters, or has looked
	// at p.Examine: its cost has a bound, whatever the filters and however large
	// the store. [ListPage.Next] continues from there. It may miss or repeat
	// what changes while it runs.
	//
	// Errors: [ErrCursor] when p.After is not a cursor of this store.
	List(ctx context.Context, p ListParams) (ListPage, error)
}

// ListParams are the parameters of [Lister]'s List.
type ListParams struct {
	Scope    string  // only this scope, when not empty
	Name     string  // only this name, when not empty
	States   []State // only these, when not empty; a lapsed claim counts as claimed
	After    string  // where to continue: the Next of a page; empty for the newest record
	Limit    int     // how many records to return: 1 to MaxListLimit; 0 means MaxListLimit
	Examine  int     // how many records to look at: 1 to MaxListExamined; 0 means MaxListExamined
	Outcomes bool    // fill Record.Outcome; otherwise it is nil
}

// ListPage is the result of one List.
type ListPage struct {
	Records []Record // the newest claim first
	// Examined counts the records that List looked at, including expired ones that
	// were not swept.
	Examined int
	// Next is the cursor of the records that were not looked at; empty when
	// there are none. Its format is up to the store.
	Next string
	// Unordered says that the store keeps no order by claim and holds more than
	// one page may look at: the records after Next may be newer than these.
	Unordered bool
}

// Bounds of one List.
const (
	MaxListLimit    = 1000   // records returned
	MaxListExamined = 20_000 // records looked at
)

// Validate reports a parameter that no store accepts, and fills in the defaults
// of Limit and Examine.
func (p *ListParams) Validate() error {
	switch {
	case p.Limit < 0 || p.Limit > MaxListLimit:
		return fmt.Errorf("semel: list limit %d is not between 0 and %d", p.Limit, MaxListLimit)
	case p.Examine < 0 || p.Examine > MaxListExamined:
		return fmt.Errorf("semel: list would examine %d records, not between 0 and %d", p.Examine, MaxListExamined)
	}
	if p.Limit == 0 {
		p.Limit = MaxListLimit
	}
	if p.Examine == 0 {
		p.Examine = MaxListExamined
	}
	return nil
}

// Sweeper is implemented by stores that free expired records when asked.
// Sweeping changes nothing that the other verbs can see.
type Sweeper interface {
	// Sweep removes at most limit expired records in one short step and says
	// how many it removed. Fewer than limit means that none are left for now.
	Sweep(ctx context.Context, limit int) (removed int, err error)
}

// Counter is implemented by stores that can say, at a cost that does not grow
// with their size, how many records they hold.
type Counter interface {
	// Count returns the number of records, expired ones that were not swept
	// included.
	Count(ctx context.Context) (int64, error)
}

// Batcher is implemented by stores that can take many steps in one commit;
// package groupcommit gathers the steps of many callers for it.
type Batcher interface {
	// Batch does for each of the claims what [Store.Claim] does, and for each of the
	// settlements what [Store.Settle] does, as if they came one by one, in any order.
	// There is one answer for each, in their order, and one step's error touches no
	// other. An error of the call itself means that nothing is known about any of
	// the steps; the caller repeats each by its own verb.
	//
	// No two claims have the same digest, no two settlements the same digest and
	// fence. A former holder and the present one may settle the same digest, while a
	// duplicate claims it.
	Batch(ctx context.Context, claims []ClaimParams, settles []SettleParams) ([]ClaimAnswer, []error, error)
}

// ClaimAnswer holds the results of [Store.Claim] for one step of a batch.
type ClaimAnswer struct {
	Record Record
	Won    bool
	Err    error
}

// SettleParams are the parameters of [Store.Settle], for one step of a batch.
type SettleParams struct {
	Digest     Digest
	Fence      Fence
	Settlement Settlement
}

// Notifier is implemented by stores that can tell at once that another process
// has settled a record. A [Guard] then polls for it rarely.
type Notifier interface {
	// Await returns nil when the record is not a live claim, or has been settled
	// since the call began. It may return nil early, but not again and again. An
	// error means that the store cannot tell, or that ctx has ended; the caller
	// polls.
	Await(ctx context.Context, d Digest) error
}

// recaller is implemented by stores that answer for some completed records from
// memory. [Guard.BeginTx] asks it before it opens a transaction, because a
// transaction's claim does not pass through the store.
type recaller interface {
	// Recall returns the record as it is now, if it is in memory and has certainly
	// not expired. Otherwise keep remembers what the database says about the
	// digest when it is asked after this call.
	Recall(ctx context.Context, d Digest) (rec Record, keep func(*Record), ok bool)
}

// Monitor is implemented by stores that go on checking, after they were opened,
// whether the server keeps what the store promises.
type Monitor interface {
	// Health returns nil, or an error that says which setting of the server breaks a
	// promise, and how to change it. It reports the last check, and does not ask the
	// server: any verb finds out that it cannot be reached.
	Health() error
}

// StoreAs returns the store as a T, or the first store below it that is one: a
// wrapper exposes what it wraps by a method Unwrap() Store. Use it to look for
// optional interfaces.
func StoreAs[T any](s Store) (T, bool) {
	for ; s != nil; s = unwrap(s) {
		if t, ok := s.(T); ok {
			return t, true
		}
	}
	var zero T
	return zero, false
}

// unwrap returns the store that s wraps, or nil.
func unwrap(s Store) Store {
	if wrapper, ok := s.(interface{ Unwrap() Store }); ok {
		return wrapper.Unwrap()
	}
	return nil
}

// bottom returns the store below all wrappers, to compare with others; nil for
// one that cannot be compared.
func bottom(s Store) any {
	for below := unwrap(s); below != nil; below = unwrap(s) {
		s = below
	}
	if !reflect.ValueOf(s).Comparable() {
		return nil
	}
	return s
}
