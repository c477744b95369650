package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// statement is one that a [wire] sends.
type statement struct {
	name     string // that of its preparation, or "" to have it parsed every time
	sql      string
	oids     []uint32 // of its parameters
	describe bool     // its rows are read by their description
	begins   bool     // a transaction
	commits  bool     // one
}

// txStatements are the statements of transactions.
type txStatements struct {
	begin          map[string]*statement // by isolation; "" is the default
	commit, undo   *statement
	lock, draw     *statement
	lockElse       *statement // or fail
	drawElse       *statement // or fail
	patience, wait *statement
	patienceEnd    *statement
	clear, lookup  *statement
	record         *statement
	first, finish  *statement
	began, brief   *statement
	locks          int64 // what is common to the numbers of their locks
}

// isolations lists how a transaction can begin, as SQL.
func isolations() []string {
	return []string{"", "read uncommitted", readCommitted, "repeatable read", "serializable"}
}

// prepareTx makes the statements of the store's texts. named says that
// connections keep prepared ones.
func prepareTx(schema string, sql texts, named bool) *txStatements {
	const (
		b, i, t, f, at = pgtype.ByteaOID, pgtype.Int8OID, pgtype.TextOID, pgtype.BoolOID, pgtype.TimestamptzOID
	)
	all := &txStatements{begin: map[string]*statement{}, locks: lockOf(schema)}
	add := func(text string, oids ...uint32) *statement {
		s := &statement{sql: text, oids: oids}
		if named {
			s.name = preparedName(text)
		}
		return s
	}
	for _, level := range isolations() {
		begin := "BEGIN"
		if level != "" {
			begin += " ISOLATION LEVEL " + level
		}
		all.begin[level] = add(begin)
		all.begin[level].begins = true
	}
	all.commit, all.undo = add("COMMIT"), add("ROLLBACK")
	all.commit.commits = true
	all.lock, all.lockElse = add(sql["tx_lock"], i), add(sql["tx_lock_or_fail"], i)
	all.draw, all.drawElse = add(sql["tx_draw"], b), add(sql["tx_draw_or_fail"], b)
	all.patience, all.patienceEnd = add(sql["tx_patience"], t), add(sql["tx_patience_end"])
	all.wait = add(sql["tx_wait"], i)
	all.clear, all.lookup = add(sql["tx_clear"], b), add(sql["lookup"], b)
	all.lookup.describe = true
	all.record = add(sql["tx_record"], b, i, t, f, b, b, i, i, t, t, t, b, at)
	all.first = add(sql["tx_first"], b, b, b, i, t, t, i)
	all.finish = add(sql["tx_finish"], b, i, t, f, b, t, i, at)
	all.began, all.brief = add(sql["tx_began"]), add(sql["tx_brief"], t, t)
	return all
}

// preparedName is the name under which a connection keeps a statement: that of
// its text, because stores may share a connection.
func preparedName(sql string) string {
	h := fnv.New64a()
	h.Write([]byte(sql))
	return fmt.Sprintf("semel_%016x", h.Sum64())
}

// known holds what is known of a connection. It lies in the connection's own data.
type known struct {
	parsed    map[string]bool   // the names of the statements that it has prepared
	queries   map[string]string // the names of those of the callers, by their texts
	isolation string            // the default of its transactions; "" before it was asked
	maps      []*pgtype.Map     // copies of its types, for those that share a transaction
}

// mapOf is the i-th copy of the connection's types.
func (k *known) mapOf(i int, conn *pgx.Conn) *pgtype.Map {
	for len(k.maps) <= i {
		k.maps = append(k.maps, conn.TypeMap().Copy())
	}
	return k.maps[i]
}

func knownOf(conn *pgx.Conn) *known {
	const name = "semel transactions"
	data := conn.PgConn().CustomData()
	k, ok := data[name].(*known)
	if !ok {
		k = &known{parsed: map[string]bool{}, queries: map[string]string{}}
		data[name] = k
	}
	return k
}

func (k *known) defaultIsolation(ctx context.Context, conn *pgx.Conn) (string, error) {
	if k.isolation != "" {
		return k.isolation, nil
	}
	err := conn.QueryRow(ctx, "SELECT current_setting('default_transaction_isolation')").Scan(&k.isolation)
	return k.isolation, err
}
