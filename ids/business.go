package ids

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	maxKindBytes      = 16
	maxTenantBytes    = 64
	maxBusinessNumber = 999_999_999_999

	minYear, maxYear = 1000, 9999
	numberDigits     = 6 // at least
)

// BusinessKey is the number that people use for a thing: INV-acme-2026-000042,
// the 42nd invoice of a tenant in a year. It is right as a unique column next to
// an id, and as a key where the number was given before the first attempt. Two of
// them reveal how many lie between, and finding the next number without gaps
// takes a lock for all creates of that tenant and year.
//
// Two keys that differ are written differently even where a collation ignores
// case: kinds are in upper case, tenants in lower case.
type BusinessKey struct {
	// Kind is 1 to 16 of A to Z and 0 to 9.
	Kind string
	// Tenant is 1 to 64 of a to z, 0 to 9, _ and the dot.
	Tenant string
	// Year is 1000 to 9999.
	Year int
	// Number is 1 to 999,999,999,999.
	Number int64
}

// Validate reports what is wrong with the parts; the error wraps [ErrMalformed].
func (k BusinessKey) Validate() error {
	switch {
	case !consists(k.Kind, maxKindBytes, func(c byte) bool { return 'A' <= c && c <= 'Z' }):
		return malformed("the kind of a business key is 1 to %d of A-Z and 0-9", maxKindBytes)
	case !consists(k.Tenant, maxTenantBytes, func(c byte) bool { return 'a' <= c && c <= 'z' || c == '_' || c == '.' }):
		return malformed("the tenant of a business key is 1 to %d of a-z, 0-9, _ and the dot", maxTenantBytes)
	case k.Year < minYear || k.Year > maxYear:
		return malformed("the year of a business key has four digits")
	case k.Number < 1 || k.Number > maxBusinessNumber:
		return malformed("the number of a business key is 1 to %d", int64(maxBusinessNumber))
	}
	return nil
}

// consists reports whether s has only digits and allowed letters.
func consists(s string, most int, also func(c byte) bool) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && !also(c) {
			return false
		}
	}
	return s != "" && len(s) <= most
}

// String writes the key, with at least six digits for the number. Up to 999999
// keys of a tenant and year sort by their number. It is meaningful only for keys
// that [BusinessKey.Validate] accepts.
func (k BusinessKey) String() string {
	return fmt.Sprintf("%s-%s-%04d-%0*d", k.Kind, k.Tenant, k.Year, numberDigits, k.Number)
}

// MarshalText implements [encoding.TextMarshaler], for JSON as well, with
// [BusinessKey.Validate] and [BusinessKey.String].
func (k BusinessKey) MarshalText() ([]byte, error) { return []byte(k.String()), k.Validate() }

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads what
// [BusinessKey.String] writes, and only that. The error wraps [ErrMalformed].
func (k *BusinessKey) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "-")
	if len(parts) != 4 {
		return malformed("a business key has four parts, such as INV-acme-2026-000042")
	}
	year, yearErr := strconv.Atoi(parts[2])
	number, numberErr := strconv.ParseInt(parts[3], 10, 64)
	if yearErr != nil || numberErr != nil {
		return malformed("year and number of a business key are decimal numbers")
	}
	read := BusinessKey{Kind: parts[0], Tenant: parts[1], Year: year, Number: number}
	if err := read.Validate(); err != nil {
		return err
	}
	if read.String() != string(text) {
		return malformed("a business key is written in one way: INV-acme-2026-000042")
	}
	*k = read
	return nil
}
