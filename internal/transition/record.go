package transition

// State is the state of an intent. The numbers are those of the states of
// package semel.
type State uint8

// The states, described at those of package semel.
const (
	Absent State = iota
	Claimed
	Completed
	Released
	Unknown
	Cancelled
)

// Record holds what the table needs of a record. The zero Record is absent;
// so is one that has expired (see [Reached]).
type Record struct {
	State  State
	Lapsed bool // it is claimed, and its lease is reached
	Fence  uint64
}

// Reached reports whether a deadline has come: from that very instant on. A
// lease that is reached has lapsed, and a record whose expiry is reached is
// absent to every verb and may be swept away. Both in ms of the store's clock.
func Reached(now, deadline int64) bool { return now >= deadline }

// Sweepable reports whether a sweep may remove a record: only one that is
// absent to every verb already, so that sweeping changes nothing.
func Sweepable(now, expires int64) bool { return Reached(now, expires) }

// Deadlines are when a claimed record lapses and when it is forgotten, in ms
// of the store's clock.
type Deadlines struct{ Lapses, Expires int64 }

// ClaimedAt gives the deadlines of a record that is claimed now. The retention
// extends beyond the lease, for a claim that lapses.
func ClaimedAt(now, lease, retention int64) Deadlines {
	return Deadlines{Lapses: now + lease, Expires: now + lease + retention}
}

// RenewedAt moves both deadlines of a record that is renewed now.
func (d Deadlines) RenewedAt(now, lease int64) Deadlines {
	return Deadlines{Lapses: now + lease, Expires: d.Expires + (now + lease - d.Lapses)}
}

// SettledAt gives the expiry of a record that is settled now.
func SettledAt(now, retention int64) int64 { return now + retention }

// Trusted returns how long, by its own clock and from before it asked for it, a
// holder relies on a lease: a tenth is the margin for clocks that run at
// another speed than the store's.
func Trusted[D ~int64](lease D) D { return lease - lease/10 }
