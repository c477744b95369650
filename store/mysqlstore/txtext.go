package mysqlstore

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel"
)

// txTexts are the statements of transactions, with a ? for each value.
type txTexts struct{ claim, replace, again, settle, find string }

func (s *Store) txStatements() (t txTexts, err error) {
	d := s.dialect
	columns, err := d.sql("columns", 0, "outcome", "outcome")
	if err != nil {
		return t, err
	}
	row, err := d.sql("claim_row", 0)
	if err != nil {
		return t, err
	}
	open := "TRUE" // nothing tells
	if s.server.mariadb {
		open = "@@in_transaction = 1"
	}
	for _, file := range []struct {
		text *string
		name string
	}{
		{&t.claim, "claim"},
		{&t.replace, "replace_absent"},
		{&t.again, "tx_again"},
		{&t.settle, "tx_settle"},
		{&t.find, "tx_find"},
	} {
		if *file.text, err = d.sql(file.name, 0, "rows", row, "columns", columns, "open", open); err != nil {
			return t, err
		}
	}
	return t, nil
}

// filled puts values in the place of the question marks: numbers, and bytes in
// hexadecimal digits, which mean the same in every SQL mode and charset.
func filled(text string, values ...any) string {
	var b strings.Builder
	b.Grow(len(text) + 512)
	for _, value := range values {
		before, after, _ := strings.Cut(text, "?")
		b.WriteString(before)
		write(&b, value)
		text = after
	}
	b.WriteString(text)
	return b.String()
}

func write(b *strings.Builder, value any) {
	switch v := value.(type) {
	case int:
		b.WriteString(strconv.Itoa(v))
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case uint64:
		b.WriteString(strconv.FormatUint(v, 10))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		write(b, []byte(v))
	case []byte:
		if v == nil {
			b.WriteString("NULL")
			return
		}
		b.WriteString("x'")
		_, _ = hex.NewEncoder(b).Write(v)
		b.WriteString("'")
	}
}

// txClaim is a claim, in the place of a row that is absent to every verb, if
// there is one.
func (s *Store) txClaim(p *semel.ClaimParams, old *semel.Record, wait time.Duration) []string {
	var args [claimArgs]any
	fillClaim(args[:], p, 1)
	claim := s.waiting(filled(s.tx.claim, args[:]...), wait)
	if old == nil {
		return []string{claim}
	}
	return []string{s.waiting(filled(s.tx.replace, uint64(old.Fence), old.Digest[:]), wait), claim}
}

// waiting is a statement that waits for locks so long, and not at all when that
// is 0, where the server can be told.
func (s *Store) waiting(statement string, wait time.Duration) string {
	switch {
	case !s.ways.bounded:
		return statement
	case wait <= 0:
		return "SET STATEMENT innodb_lock_wait_timeout = 0 FOR " + statement
	}
	return fmt.Sprintf("SET STATEMENT innodb_lock_wait_timeout = %d, max_statement_time = %.3f FOR %s",
		int(math.Ceil(wait.Seconds()))+1, max(wait, time.Millisecond).Seconds(), statement)
}

// settleText is the settlement, and txSettleArgs its values.
func (s *Store) settleText(d semel.Digest, f semel.Fence, v *semel.Settlement) string {
	return filled(s.tx.settle, txSettleArgs(d, f, v)...)
}

func txSettleArgs(d semel.Digest, f semel.Fence, v *semel.Settlement) []any {
	retention := v.Retention.Milliseconds()
	return []any{v.State.String(), v.Kept, v.Outcome, []byte(v.Note), retention, retention, uint64(f), d[:]}
}

// fits reports whether the outcome can be sent as text, twice as long.
func (s *Store) fits(v *semel.Settlement) bool {
	return 2*len(v.Outcome) < s.server.packetBytes-packetRoom
}
