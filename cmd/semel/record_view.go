package main

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/semel-dev/semel"
)

const (
	// digestShown is how many digits of a digest people get to see: enough to
	// name one record among millions.
	digestShown = 12
	timeFormat  = "2006-01-02T15:04:05.000Z07:00"
)

// recordView is a record as --json prints it. Its fields are a contract: new
// ones may come, none changes its meaning.
type recordView struct {
	Digest      string       `json:"digest"`
	Scope       string       `json:"scope"` // empty where keys are hidden
	Name        string       `json:"name"`
	State       string       `json:"state"`  // claimed, completed, unknown, cancelled or released
	Lapsed      bool         `json:"lapsed"` // unknown because the holder ended without an answer
	Attempt     int          `json:"attempt"`
	Fence       semel.Fence  `json:"fence"`
	Fingerprint string       `json:"fingerprint"`
	ClaimedAt   string       `json:"claimed_at,omitempty"`
	SettledAt   string       `json:"settled_at,omitempty"`
	LeaseUntil  string       `json:"lease_until,omitempty"`
	ExpiresAt   string       `json:"expires_at,omitempty"`
	ReadAt      string       `json:"read_at,omitempty"`
	Kept        bool         `json:"kept"` // the whole answer is stored
	Note        string       `json:"note,omitempty"`
	Outcome     *outcomeView `json:"outcome,omitempty"`
}

func viewRecord(rec *semel.Record) recordView {
	return recordView{
		Digest: rec.Digest.String(), Scope: rec.Scope, Name: rec.Name,
		State: state(rec).String(), Lapsed: rec.Lapsed(), Attempt: rec.Attempt, Fence: rec.Fence,
		Fingerprint: hex.EncodeToString(rec.Fingerprint[:]),
		ClaimedAt:   timeText(rec.ClaimedAt), SettledAt: timeText(rec.SettledAt),
		LeaseUntil: timeText(rec.LeaseUntil), ExpiresAt: timeText(rec.ExpiresAt), ReadAt: timeText(rec.ReadAt),
		Kept: rec.Kept, Note: rec.Note, Outcome: viewOutcome(rec),
	}
}

// state counts a lapsed claim as unknown, as the guard does.
func state(rec *semel.Record) semel.State {
	if rec.Lapsed() {
		return semel.StateUnknown
	}
	return rec.State
}

func stateText(rec *semel.Record) string {
	if rec.Lapsed() {
		return "unknown (lapsed)"
	}
	return rec.State.String()
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}

// plain makes text safe to print on a terminal: what a caller sent could hold
// control sequences.
func plain(s string) string {
	if strings.ContainsFunc(s, unprintable) {
		var b strings.Builder
		for _, r := range s {
			if unprintable(r) {
				fmt.Fprintf(&b, `\u%04x`, r)
			} else {
				b.WriteRune(r)
			}
		}
		return b.String()
	}
	return s
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// orDash is what a table shows of a text that may be empty.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
