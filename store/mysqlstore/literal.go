package mysqlstore

import (
	"database/sql/driver"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// connFacts holds what decides how a connection reads a text.
type connFacts struct {
	id        uint64 // of the connection
	backslash bool   // escapes
	plain     bool   // no character of its charset contains the byte of a backslash or a quote
	loc       *time.Location
	step      int64 // of AUTO_INCREMENT
}

// plainCharsets lists those in which every byte below 128 is a character.
func plainCharsets() []string {
	return []string{"utf8mb4", "utf8mb3", "utf8", "latin1", "ascii", "binary"}
}

// newConnFacts reads the answer to sessionSQL.
func newConnFacts(row []driver.Value, loc *time.Location) *connFacts {
	text := func(i int) string {
		switch v := row[i].(type) {
		case []byte:
			return string(v)
		case int64:
			return strconv.FormatInt(v, 10)
		case uint64:
			return strconv.FormatUint(v, 10)
		}
		return ""
	}
	s := &connFacts{loc: loc, plain: text(0) == text(1) && slices.Contains(plainCharsets(), text(0))}
	s.backslash = !strings.Contains(text(2), "NO_BACKSLASH_ESCAPES")
	s.id, _ = strconv.ParseUint(text(3), 10, 64)
	s.step, _ = strconv.ParseInt(text(4), 10, 64)
	return s
}

const sessionSQL = "SELECT @@character_set_client, @@character_set_connection, @@sql_mode, CONNECTION_ID(), @@auto_increment_increment"

// fill replaces the question marks, each of which is a placeholder, by the
// values. ok is false where a value has no literal that means the same. Spaces keep a
// value apart from adjacent text: LIMIT? would become the name LIMIT5.
func (s *connFacts) fill(b *strings.Builder, text string, values []driver.Value) (ok bool) {
	for _, v := range values {
		before, after, found := strings.Cut(text, "?")
		if b.WriteString(before + " "); !found || !s.literal(b, v) {
			return false
		}
		b.WriteByte(' ')
		text = after
	}
	b.WriteString(text)
	return true
}

// literal writes a value as the driver does that puts parameters into a text.
func (s *connFacts) literal(b *strings.Builder, value driver.Value) (ok bool) {
	switch v := value.(type) {
	case nil:
		b.WriteString("NULL")
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case uint64:
		b.WriteString(strconv.FormatUint(v, 10))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'e', -1, 64)) // without an exponent it is a DECIMAL, or an integer
		return !math.IsInf(v, 0) && !math.IsNaN(v)
	case bool:
		b.WriteByte("01"[map[bool]int{true: 1}[v]])
	case time.Time:
		return s.time(b, v)
	case []byte:
		if v == nil {
			b.WriteString("NULL")
			return true
		}
		s.quote(b, "_binary", string(v))
	case json.RawMessage:
		s.quote(b, "", string(v))
	case string:
		s.quote(b, "", v)
	default:
		return false
	}
	return true
}

func (s *connFacts) time(b *strings.Builder, t time.Time) (ok bool) {
	if t.IsZero() {
		b.WriteString("('0000-00-00')")
		return true
	}
	t = t.In(s.loc)
	b.WriteString(t.Format("('2006-01-02 15:04:05.999999999')"))
	return t.Year() > 0 && t.Year() <= 9999
}

// quote writes a string between apostrophes. The parentheses prevent the server from joining it
// with a string that follows as a column alias.
func (s *connFacts) quote(b *strings.Builder, charset, text string) {
	b.WriteString("(" + charset + "'")
	for {
		i := strings.IndexAny(text, `'\`)
		if i < 0 {
			break
		}
		b.WriteString(text[:i+1])
		if text[i] == '\'' || s.backslash {
			b.WriteByte(text[i])
		}
		text = text[i+1:]
	}
	b.WriteString(text)
	b.WriteString("')")
}
