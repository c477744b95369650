package ids

import (
	"database/sql/driver"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"unique"
)

// hidden is all that formatting shows of an [Internal].
const hidden = "[internal]"

// Internal is a database's own number of a row. Joins use it, and no client must
// see it, because a client that knows it depends on it, counts with it and
// guesses the next one. Clients know the thing by the id that they made or
// received ([UUID], [ULID]).
//
// It goes into and out of databases as an integer, and nowhere else:
//
//   - fmt, log/slog, text/template and html/template show "[internal]", whatever
//     the verb, or an address in memory where the field is not exported;
//   - encoding/json, encoding/xml, encoding/gob and whatever else asks for text
//     or bytes get [ErrInternal] when they write or read it;
//   - its type is not an integer, so strconv, arithmetic and %d do not work:
//     [Internal.Reveal] is the one way to the number, and easy to search for.
//
// Tools that read memory past the rules of the language, such as go-cmp and
// debuggers, see the number.
//
// Two Internals of one number are ==. The zero Internal holds no number: NULL.
type Internal struct{ number unique.Handle[int64] }

// NewInternal hides a number.
func NewInternal(n int64) Internal { return Internal{unique.Make(n)} }

// IsZero reports whether it holds no number.
func (i Internal) IsZero() bool { return i == Internal{} }

// Reveal returns the number, for a place inside the server that needs an integer,
// and 0 when there is none.
func (i Internal) Reveal() int64 {
	if i.IsZero() {
		return 0
	}
	return i.number.Value()
}

// Equal is ==, for packages that compare structs.
func (i Internal) Equal(other Internal) bool { return i == other }

// Value implements [driver.Valuer]: an integer, or NULL.
func (i Internal) Value() (driver.Value, error) {
	if i.IsZero() {
		return nil, nil //nolint:nilnil // that is NULL.
	}
	return i.number.Value(), nil
}

// Scan implements [database/sql.Scanner] for integers and NULL; pgx uses it as
// well.
func (i *Internal) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*i = Internal{}
	case int64:
		*i = NewInternal(v)
	case []byte: // MySQL without prepared statements
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return fmt.Errorf("ids: scan an internal number: the column holds no integer: %w", ErrMalformed)
		}
		*i = NewInternal(n)
	default:
		return fmt.Errorf("ids: scan an internal number: the column holds a %T", src)
	}
	return nil
}

// String returns "[internal]".
func (i Internal) String() string { return hidden }

// GoString returns "[internal]".
func (i Internal) GoString() string { return hidden }

// Format writes "[internal]" for every verb.
func (i Internal) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, hidden) }

// LogValue returns "[internal]".
func (i Internal) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalJSON returns [ErrInternal].
func (i Internal) MarshalJSON() ([]byte, error) { return nil, ErrInternal }

// UnmarshalJSON returns [ErrInternal].
func (i *Internal) UnmarshalJSON([]byte) error { return ErrInternal }

// MarshalText returns [ErrInternal].
func (i Internal) MarshalText() ([]byte, error) { return nil, ErrInternal }

// UnmarshalText returns [ErrInternal].
func (i *Internal) UnmarshalText([]byte) error { return ErrInternal }

// MarshalBinary returns [ErrInternal].
func (i Internal) MarshalBinary() ([]byte, error) { return nil, ErrInternal }

// UnmarshalBinary returns [ErrInternal].
func (i *Internal) UnmarshalBinary([]byte) error { return ErrInternal }
