package storetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

func outcomeRules() []storeRule {
	return []storeRule{
		{Name: "outcome/bytes", Promise: 2, Says: "an outcome comes back byte for byte, from nothing to a mebibyte", check: outcomeBytes},
		{Name: "outcome/aliasing-in", Promise: 2, Says: "the store does not keep the caller's memory", check: outcomeAliasingIn},
		{Name: "outcome/aliasing-out", Promise: 2, Says: "a returned outcome does not change with the record, nor the record with it", check: outcomeAliasingOut},
		{Name: "outcome/empty-is-nil", Promise: 2, Says: "nil and empty are the same outcome", check: outcomeEmpty},
		{Name: "outcome/note", Says: "a note comes back as it was, up to its bound", check: outcomeNote},
	}
}

func keyRules() []storeRule {
	return []storeRule{
		{Name: "key/any-text", Promise: 5, Says: "scope and name come back as they were, whatever text they are", check: keyText},
	}
}

func timeRules() []storeRule {
	return []storeRule{
		{Name: "time/utc-ms", Promise: 9, Says: "times are UTC and whole milliseconds", check: timeUnits},
		{Name: "time/one-clock", Promise: 9, Says: "ReadAt is the store's clock, so that it moves with it", check: timeReadAt},
	}
}

// outcomes are texts and bytes that stores have been seen to change.
func outcomes() map[string][]byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return map[string][]byte{
		"nil":      nil,
		"empty":    {},
		"one zero": {0},
		"all":      all,
		"not text": {0xFF, 0xFE, 0, '\'', '"', '\\', '\n', 0xC3, 0x28},
		"mebibyte": bytes.Repeat(all, 4096),
	}
}

// kept fails unless the record has that outcome.
func (c *check) kept(name string, d semel.Digest, outcome []byte) {
	c.Helper()
	if found := c.lookup(d); !bytes.Equal(found.Outcome, outcome) || !found.Kept {
		c.fail("the outcome must come back byte for byte: "+name,
			fmt.Sprintf("%d bytes, kept %v", len(found.Outcome), found.Kept), fmt.Sprintf("%d bytes, kept true", len(outcome)))
	}
}

func outcomeBytes(c *check) {
	for name, outcome := range outcomes() {
		to := semel.Settlement{State: semel.StateCompleted, Outcome: outcome, Kept: true, Retention: retention}
		p, rec := c.claimed(name)
		c.settle("a held claim must be settled: "+name, rec, to, nil)
		c.kept(name, p.Digest, outcome)
		c.settle("the same settlement again must return nil: "+name, rec, to, nil)
	}
}

func outcomeAliasingIn(c *check) {
	p, rec := c.claimed("a")
	mine := []byte("the first answer")
	c.settle("a held claim must be settled", rec,
		semel.Settlement{State: semel.StateCompleted, Outcome: mine, Kept: true, Retention: retention}, nil)
	copy(mine, "XXXXXXXXXXXXXXXX")
	if got := c.lookup(p.Digest).Outcome; string(got) != "the first answer" {
		c.fail("the store must not keep the caller's memory", string(got), "the first answer")
	}
}

func outcomeAliasingOut(c *check) {
	p, rec := c.claimed("a")
	c.settle("a held claim must be settled", rec, completed("the first answer"), nil)
	handed := c.lookup(p.Digest).Outcome
	mine := append(handed, " for me"...)
	theirs := append(c.lookup(p.Digest).Outcome, " for them"...)
	if string(mine) != "the first answer for me" || string(theirs) != "the first answer for them" {
		c.fail("two readers must not share what lies behind the outcome", string(mine), "the first answer for me")
	}
	c.expire(p.Digest)
	again := c.wins("an expired intent must be won", p)
	c.settle("a held claim must be settled", again, completed("another answer!!"), nil)
	c.equal("what was handed out must not change with the record", string(handed), "the first answer")
}

func outcomeEmpty(c *check) {
	rec := c.wins("an absent intent must be won", c.params("a"))
	with := func(b []byte) semel.Settlement {
		return semel.Settlement{State: semel.StateCompleted, Outcome: b, Kept: true, Retention: retention}
	}
	c.settle("a held claim must be settled", rec, with(nil), nil)
	c.settle("nil and empty must be the same outcome", rec, with([]byte{}), nil)
	rec = c.wins("an absent intent must be won", c.params("b"))
	c.settle("a held claim must be settled", rec, with([]byte{}), nil)
	c.settle("nil and empty must be the same outcome", rec, with(nil), nil)
}

func outcomeNote(c *check) {
	for i, note := range []string{"", "x", "upstream hung up: “reset” 中断", strings.Repeat("n", semel.MaxNoteBytes)} {
		rec := c.wins("an absent intent must be won", c.params(fmt.Sprint(i)))
		c.settle("a held claim must be settled", rec, unknown(note), nil)
		c.equal("the note must come back as it was", c.lookup(rec.Digest).Note, note)
	}
}

func keyText(c *check) {
	for i, text := range []string{
		"a", "A", "a ", " a", "é", "e\u0301", "ß", "ẞ", "ı", "İ", "中文 键", "नमस्ते", "🧾🧾", "'", `"`, `\`, "%", "_", "a;b", "--",
		strings.Repeat("å", semel.MaxKeyBytes/2), "",
	} {
		p := c.params(text)
		p.Scope, p.Name = text, text
		p.Digest = semel.Digest(semel.FingerprintOf("key/any-text", fmt.Sprint(i)))
		rec := c.wins("every text must be an intent of its own", p)
		c.equal("scope must come back as it was", rec.Scope, text)
		found := c.lookup(p.Digest)
		c.equal("name must come back as it was", found.Name, text)
		c.equal("scope must come back as it was", found.Scope, text)
	}
	p := c.params("longest")
	p.Scope, p.Name = strings.Repeat("s", semel.MaxScopeBytes), strings.Repeat("n", semel.MaxKeyBytes)
	c.wins("the longest scope and name must be accepted", p)
	found := c.lookup(p.Digest)
	c.equal("the longest scope and name must come back", found.Scope+found.Name, p.Scope+p.Name)
}

func timeUnits(c *check) {
	c.Advance(1234567 * time.Millisecond)
	for name, rec := range c.held() {
		c.wholeMS(name, rec)
		if rec.SettledAt.IsZero() != (rec.State == semel.StateClaimed) {
			c.fail(name+": SettledAt must be zero exactly while claimed", rec.SettledAt, "zero while claimed")
		}
	}
}

// wholeMS fails unless the record's times are UTC and whole milliseconds.
func (c *check) wholeMS(name string, rec semel.Record) {
	c.Helper()
	for field, at := range map[string]time.Time{
		"ClaimedAt": rec.ClaimedAt, "LeaseUntil": rec.LeaseUntil, "ExpiresAt": rec.ExpiresAt, "ReadAt": rec.ReadAt, "SettledAt": rec.SettledAt,
	} {
		if at.Location() != time.UTC || !at.Equal(at.Truncate(time.Millisecond)) {
			c.fail(name+": "+field+" must be UTC and whole milliseconds", at, at.UTC().Truncate(time.Millisecond))
		}
	}
}

func timeReadAt(c *check) {
	p, rec := c.claimed("a")
	if rec.ReadAt.Before(rec.ClaimedAt) {
		c.fail("ReadAt must not be before ClaimedAt", rec.ReadAt, rec.ClaimedAt)
	}
	c.near("a fresh claim must have its lease left", rec.LeaseLeft(), lease)
	c.Advance(lease / 4)
	found := c.lookup(p.Digest)
	c.near("ReadAt must move with the store's clock", found.ReadAt.Sub(rec.ReadAt), lease/4)
	shown, _ := c.claim(by("second", p))
	c.near("Claim must show the store's clock too", shown.ReadAt.Sub(rec.ReadAt), lease/4)
}

// near fails unless both are the same, or, where the clock runs on its own,
// differ by less than a minute.
func (c *check) near(reason string, got, want time.Duration) {
	c.Helper()
	if diff := (got - want).Abs(); diff != 0 && (!c.Running || diff > time.Minute) {
		c.fail(reason, got, want)
	}
}
