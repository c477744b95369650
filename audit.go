package semel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// AuditScope is the scope of the audit trail's own records. No intent can
	// have it.
	AuditScope = "semel:audit"
	// DefaultAuditRetention is the default of [Options.AuditRetention].
	DefaultAuditRetention = 365 * 24 * time.Hour
	// MaxOperatorBytes bounds each of [Operator]'s fields.
	MaxOperatorBytes = 128
	// auditLease is how long an entry may take to be written.
	auditLease = 30 * time.Second
)

// ErrOperator says that a verdict has no reason, or nobody who gives it.
var ErrOperator = errors.New("semel: a verdict needs somebody who gives it, and a reason")

// Operator is who settles a record by hand. What the operator does is written
// down before it is done; see [Guard.Audit].
type Operator struct {
	// Name says who it is. Required, at most MaxOperatorBytes.
	Name string
	// Via says by what door: a program, an address. At most MaxOperatorBytes.
	Via string
}

func (o Operator) validate(reason string) error {
	for _, text := range []string{o.Name, o.Via, reason} {
		if !printable(text) {
			return fmt.Errorf("%w: a name or the reason holds control characters or is not UTF-8", ErrOperator)
		}
	}
	switch {
	case strings.TrimSpace(o.Name) == "":
		return fmt.Errorf("%w: the operator has no name", ErrOperator)
	case len(o.Name) > MaxOperatorBytes || len(o.Via) > MaxOperatorBytes:
		return fmt.Errorf("%w: the operator's name or door is longer than %d bytes", ErrOperator, MaxOperatorBytes)
	case strings.TrimSpace(reason) == "":
		return fmt.Errorf("%w: the reason is empty", ErrOperator)
	case len(reason) > MaxNoteBytes:
		return fmt.Errorf("%w: the reason has %d bytes, at most %d are kept", ErrOperator, len(reason), MaxNoteBytes)
	}
	return nil
}

// AuditEntry is one verdict that was given by hand, or by a reconciliation that
// nobody asked for. It is written before the verdict takes effect: the verdict
// took effect if the record has Fence and the state As, or had until it expired.
type AuditEntry struct {
	At       time.Time // the store's clock
	Operator Operator
	Act      string // "resolve", "cancel" or "reconcile"
	Reason   string
	Digest   Digest
	Scope    string // empty when the guard hides keys
	Name     string // the same
	Before   State  // of the record; absent for none
	As       State  // what it was settled as
	Fence    Fence  // of the claim under which it was settled
	Position Fence  // of the entry in the trail; the cursor of AuditParams
}

// auditOutcome is an entry as it is stored. Fields are only ever added.
type auditOutcome struct {
	Operator string `json:"operator"`
	Via      string `json:"via,omitempty"`
	Act      string `json:"act"`
	Reason   string `json:"reason"`
	Digest   string `json:"digest"`
	Scope    string `json:"scope,omitempty"`
	Name     string `json:"name,omitempty"`
	Before   string `json:"before"`
	As       string `json:"as"`
	Fence    Fence  `json:"fence"`
}

// AuditParams are the parameters of [Guard.Audit].
type AuditParams struct {
	Before Fence // only entries with a Position below this one, when not zero: the cursor
	Limit  int   // 1 to MaxListLimit; 0 means MaxListLimit
}

// Audit returns the verdicts that were given, the newest first. The store must
// be a [Lister]. Entries are kept for [Options.AuditRetention].
func (g *Guard) Audit(ctx context.Context, p AuditParams) ([]AuditEntry, error) {
	lister, ok := StoreAs[Lister](g.core.store)
	if !ok {
		return nil, errors.New("semel: audit: this store cannot show its records")
	}
	list := ListParams{Scope: AuditScope, States: []State{StateCompleted}, Before: p.Before, Limit: p.Limit, Outcomes: true}
	records, err := lister.List(ctx, list)
	if err != nil {
		return nil, fmt.Errorf("semel: audit: %w", err)
	}
	entries := make([]AuditEntry, 0, len(records))
	for i := range records {
		entry, err := readAudit(&records[i])
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func readAudit(rec *Record) (AuditEntry, error) {
	var from auditOutcome
	if err := json.Unmarshal(rec.Outcome, &from); err != nil {
		return AuditEntry{}, fmt.Errorf("semel: audit: entry %d cannot be read: %w", rec.Fence, err)
	}
	digest, err := ParseDigest(from.Digest)
	if err != nil {
		return AuditEntry{}, fmt.Errorf("semel: audit: entry %d cannot be read: %w", rec.Fence, err)
	}
	return AuditEntry{
		At: rec.SettledAt, Operator: Operator{from.Operator, from.Via}, Act: from.Act, Reason: from.Reason,
		Digest: digest, Scope: from.Scope, Name: from.Name,
		Before: stateNamed(from.Before), As: stateNamed(from.As), Fence: from.Fence, Position: rec.Fence,
	}, nil
}

func stateNamed(name string) State {
	for s := StateAbsent; s <= StateCancelled; s++ {
		if s.String() == name {
			return s
		}
	}
	return StateAbsent
}

// writeAudit writes the entry. Its error means that it may not be there: the
// verdict must not take effect then.
func (c *core) writeAudit(ctx context.Context, e *AuditEntry) error {
	outcome, err := json.Marshal(auditOutcome{
		Operator: e.Operator.Name, Via: e.Operator.Via, Act: e.Act, Reason: e.Reason,
		Digest: e.Digest.String(), Scope: e.Scope, Name: e.Name,
		Before: e.Before.String(), As: e.As.String(), Fence: e.Fence,
	})
	if err != nil {
		return fmt.Errorf("write the audit entry: %w", err)
	}
	key := Key{AuditScope, fmt.Sprintf("%s %.12s %d", e.Act, e.Digest, e.Fence)}
	p := ClaimParams{
		Digest: c.digester.digest(key), Scope: key.Scope, Name: key.Name, Fingerprint: FingerprintOf(string(outcome)),
		Owner: c.newOwner(), Lease: auditLease, Retention: c.auditRetention,
	}
	rec, won, err := c.store.Claim(ctx, p)
	if err == nil && !won {
		err = fmt.Errorf("%w: fence %d", ErrInFlight, rec.Fence)
	}
	if err == nil {
		err = c.store.Settle(ctx, p.Digest, rec.Fence, Settlement{State: StateCompleted, Outcome: outcome, Kept: true, Retention: c.auditRetention})
	}
	if err != nil {
		return fmt.Errorf("write the audit entry: %w", err)
	}
	return nil
}
