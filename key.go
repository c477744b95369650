package semel

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/internal/sfv"
	"github.com/semel-dev/semel/internal/verdict"
)

const (
	// MaxKeyBytes is the longest key name, in bytes, after unquoting.
	MaxKeyBytes = 255
	// MaxScopeBytes is the longest scope, in bytes.
	MaxScopeBytes = 512
	// maxWireBytes bounds what ParseKey looks at: every byte of a quoted key
	// may be escaped, and parameters may follow.
	maxWireBytes = 4 * MaxKeyBytes
)

// ScopeGlobal is the scope of keys that all callers share. It is an explicit
// choice: an empty scope is refused, because a forgotten scope would let one
// caller's key answer another caller's request (promise 5).
const ScopeGlobal = "global"

// Key names an intent: one wish of one caller to do something once. The caller
// mints Name before the first attempt; every attempt carries it. Two keys with
// different scopes never see each other.
//
// The zero Key is invalid. Keys from the wire come in through [ParseKey];
// a Key built in code is checked by [Guard.Begin] with [Key.Validate].
type Key struct {
	// Scope says whose key it is and for what: principal and operation.
	Scope string
	// Name is the caller's name of the intent, 1 to MaxKeyBytes bytes.
	Name string
}

// Validate reports what is wrong with the key: [ErrScopeMissing] or
// [ErrKeyInvalid], wrapped with the reason. It returns nil for a good key.
func (k Key) Validate() error {
	switch {
	case k.Scope == "":
		return ErrScopeMissing
	case len(k.Scope) > MaxScopeBytes:
		return fmt.Errorf("%w: scope has %d bytes, at most %d are allowed", ErrKeyInvalid, len(k.Scope), MaxScopeBytes)
	case k.Scope == verdict.AuditScope:
		return fmt.Errorf("%w: the scope %q belongs to the audit trail", ErrKeyInvalid, verdict.AuditScope)
	case k.Name == "":
		return fmt.Errorf("%w: the key is empty", ErrKeyInvalid)
	case len(k.Name) > MaxKeyBytes:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed", ErrKeyInvalid, len(k.Name), MaxKeyBytes)
	case !sfv.Printable(k.Scope):
		return fmt.Errorf("%w: the scope holds control characters or is not UTF-8", ErrKeyInvalid)
	case !sfv.Printable(k.Name):
		return fmt.Errorf("%w: the key holds control characters or is not UTF-8", ErrKeyInvalid)
	}
	return nil
}

// ParseKey reads one value of an Idempotency-Key header or of a field like it.
// A value in double quotes is a String of RFC 8941 section 3.3.3 (as
// draft-ietf-httpapi-idempotency-key-header-07 asks), and its parameters are
// ignored; any other value is taken literally, because most callers send it
// raw. "abc" and abc are the same key.
//
// Only the bytes 0x20 to 0x7E are allowed. A raw value with a comma or a
// double quote inside is refused: it may be two header lines that a proxy
// joined. The error wraps [ErrKeyInvalid] (or [ErrScopeMissing]) and says what
// is wrong without repeating the value.
func ParseKey(scope, wire string) (Key, error) {
	return parseKey(scope, wire, false)
}

// ParseStrictKey is [ParseKey] for services that accept nothing but the quoted
// String that the draft specifies.
func ParseStrictKey(scope, wire string) (Key, error) {
	return parseKey(scope, wire, true)
}

func parseKey(scope, wire string, strict bool) (Key, error) {
	wire = strings.Trim(wire, " \t")
	if len(wire) > maxWireBytes {
		return Key{}, fmt.Errorf("%w: the value has %d bytes, at most %d are read", ErrKeyInvalid, len(wire), maxWireBytes)
	}
	name, err := sfv.Key(wire, strict)
	if err != nil {
		return Key{}, fmt.Errorf("%w: %w", ErrKeyInvalid, err)
	}
	key := Key{Scope: scope, Name: name}
	return key, key.Validate()
}
