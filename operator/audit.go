package operator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/verdict"
)

// auditLease bounds the writing of an entry.
const auditLease = 30 * time.Second

// The acts of entries, besides those of [Records.Decide].
const (
	actResolve   = "resolve"
	actCancel    = "cancel"
	actReconcile = "reconcile"
)

// Entry is one verdict: of an operator, or of a reconciliation in the background. It is
// written before the verdict takes effect. The verdict took effect if the record has
// Fence and the state As, or had them until it expired.
type Entry struct {
	At       time.Time // the store's clock
	Operator Identity
	Act      string // "resolve", "cancel", "reconcile", or that of [Records.Decide]
	Reason   string
	Digest   semel.Digest
	Scope    string      // empty when the guard hides keys
	Name     string      // the same
	Before   semel.State // of the record; absent for none
	As       semel.State // what it was settled as
	Fence    semel.Fence // of the claim under which it was settled
	Position semel.Fence // of the entry in the trail
}

// auditOutcome is an entry as it is stored. Fields are only ever added.
type auditOutcome struct {
	Operator string      `json:"operator"`
	Via      string      `json:"via,omitempty"`
	Act      string      `json:"act"`
	Reason   string      `json:"reason"`
	Digest   string      `json:"digest"`
	Scope    string      `json:"scope,omitempty"`
	Name     string      `json:"name,omitempty"`
	Before   string      `json:"before"`
	As       string      `json:"as"`
	Fence    semel.Fence `json:"fence"`
}

// AuditParams are the parameters of [Records.Audit], as those of
// [semel.ListParams].
type AuditParams struct {
	After   string // where to continue: the Next of a page; empty for the newest entry
	Limit   int    // 1 to semel.MaxListLimit; 0 means semel.MaxListLimit
	Examine int    // how many of the store's records to look at: 1 to semel.MaxListExamined; 0 means semel.MaxListExamined
}

// AuditPage is the result of one [Records.Audit]. Examined, Next and Unordered are
// those of [semel.ListPage]: the trail lies among the records.
type AuditPage struct {
	Entries   []Entry // the newest first
	Examined  int
	Next      string
	Unordered bool
}

// Audit returns the verdicts that were given, the newest first. The store must be a
// [semel.Lister]. Entries are kept for [Options.AuditRetention].
func (r *Records) Audit(ctx context.Context, p AuditParams) (AuditPage, error) {
	lister, ok := semel.StoreAs[semel.Lister](r.guard.Store())
	if !ok {
		return AuditPage{}, errors.New("semel: audit: this store cannot show its records")
	}
	page, err := lister.List(ctx, semel.ListParams{
		Scope: verdict.AuditScope, States: []semel.State{semel.StateCompleted}, After: p.After, Limit: p.Limit, Examine: p.Examine, Outcomes: true,
	})
	if err != nil {
		return AuditPage{}, fmt.Errorf("semel: audit: %w", err)
	}
	out := AuditPage{
		Entries: make([]Entry, 0, len(page.Records)), Examined: page.Examined, Next: page.Next, Unordered: page.Unordered,
	}
	for i := range page.Records {
		entry, err := readAudit(&page.Records[i])
		if err != nil {
			return AuditPage{}, err
		}
		out.Entries = append(out.Entries, entry)
	}
	return out, nil
}

// VerdictOn returns the entry of the verdict that settled the record as it is, in at most three reads. [semel.ErrNotFound]
// means that its own attempt settled it, that the entry has expired, or that it was written under another secret.
func (r *Records) VerdictOn(ctx context.Context, rec *semel.Record) (Entry, error) {
	if rec.State != semel.StateCompleted && rec.State != semel.StateCancelled {
		return Entry{}, fmt.Errorf("semel: audit: %w", semel.ErrNotFound)
	}
	for _, act := range []string{actResolve, actCancel, actReconcile} {
		found, err := r.guard.Store().Lookup(ctx, r.guard.Digest(entryKey(act, rec)))
		if err == nil && found.State == semel.StateCompleted {
			return readAudit(&found)
		}
		if err != nil && !errors.Is(err, semel.ErrNotFound) {
			return Entry{}, fmt.Errorf("semel: audit: %w", err)
		}
	}
	return Entry{}, fmt.Errorf("semel: audit: %w", semel.ErrNotFound)
}

// entryKey names the entry of a verdict on the record's attempt.
func entryKey(act string, rec *semel.Record) semel.Key {
	return semel.Key{Scope: verdict.AuditScope, Name: fmt.Sprintf("%s %.12s %d", act, rec.Digest, rec.Fence)}
}

func readAudit(rec *semel.Record) (Entry, error) {
	var from auditOutcome
	if err := json.Unmarshal(rec.Outcome, &from); err != nil {
		return Entry{}, fmt.Errorf("semel: audit: entry %d cannot be read: %w", rec.Fence, err)
	}
	digest, err := semel.ParseDigest(from.Digest)
	if err != nil {
		return Entry{}, fmt.Errorf("semel: audit: entry %d cannot be read: %w", rec.Fence, err)
	}
	return Entry{
		At: rec.SettledAt, Operator: Identity{from.Operator, from.Via}, Act: from.Act, Reason: from.Reason,
		Digest: digest, Scope: from.Scope, Name: from.Name,
		Before: stateNamed(from.Before), As: stateNamed(from.As), Fence: from.Fence, Position: rec.Fence,
	}, nil
}

func stateNamed(name string) semel.State {
	for s := semel.StateAbsent; s <= semel.StateCancelled; s++ {
		if s.String() == name {
			return s
		}
	}
	return semel.StateAbsent
}

// writeAudit writes the entry for a verdict under the claim of this record. After an
// error the entry may be missing, so the verdict must not take effect.
func (r *Records) writeAudit(ctx context.Context, e *Entry, claimed *semel.Record) error {
	outcome, err := json.Marshal(auditOutcome{
		Operator: e.Operator.Name, Via: e.Operator.Via, Act: e.Act, Reason: e.Reason,
		Digest: claimed.Digest.String(), Scope: claimed.Scope, Name: claimed.Name,
		Before: e.Before.String(), As: e.As.String(), Fence: claimed.Fence,
	})
	if err != nil {
		return fmt.Errorf("write the audit entry: %w", err)
	}
	key := entryKey(e.Act, claimed)
	p := semel.ClaimParams{
		Digest: r.guard.Digest(key), Scope: key.Scope, Name: key.Name, Fingerprint: semel.FingerprintOf(string(outcome)),
		Lease: auditLease, Retention: r.auditRetention,
	}
	_, _ = rand.Read(p.Owner[:]) // it never fails
	rec, won, err := r.guard.Store().Claim(ctx, p)
	if err == nil && !won {
		err = fmt.Errorf("%w: fence %d", semel.ErrInFlight, rec.Fence)
	}
	if err == nil {
		err = r.guard.Store().Settle(ctx, p.Digest, rec.Fence, semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: r.auditRetention})
	}
	if err != nil {
		return fmt.Errorf("write the audit entry: %w", err)
	}
	return nil
}
