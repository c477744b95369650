package mysqlstore_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/store/mysqlstore"
)

// money is an argument that makes its own value.
type money int

// Value implements the driver's Valuer.
func (m money) Value() (any, error) { return fmt.Sprintf("%d.%02d", int(m)/100, int(m)%100), nil }

// arguments are of all kinds, and none of them is to become SQL.
func arguments() []any {
	berlin := time.FixedZone("CET", 3600)
	day := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, berlin)
	return []any{
		nil,
		0, int8(-5), int64(math.MinInt64), uint64(math.MaxInt64), uint64(math.MaxUint64), 1.5, -1e300, true, false, []byte(nil),
		[]byte{},
		[]byte("bytes"),
		json.RawMessage(`{"a":"\"\n'"}`), day,
		time.Time{},
		day.Truncate(time.Second), day.Add(150), money(1250), (*string)(nil), "", "text", smuggling, `\`, `\'`, `'\`, `''`,
		"line\nline\r\x00\x1a\t", `"`, "?", "-- ?", "/* ", ";", "ä€", strings.Repeat(`'\`, 300),
	}
}

// What a statement does with a value does not depend on what is next to it, and numbers keep their types.
func TestTogetherGlued(t *testing.T) {
	t.Parallel()
	c := setUpCompany(t, door{})
	execute(t, c.db, "CREATE TABLE glued (i INT PRIMARY KEY, s VARCHAR(99), d DOUBLE, at DATETIME(6))")
	execute(t, c.db, "INSERT INTO glued (i) VALUES (1), (2), (3)")
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_999_900, time.UTC) // the server cuts off
	for i, q := range []mysqlstore.Query{
		{SQL: "DELETE FROM glued LIMIT?", Args: []any{1}},
		{SQL: "INSERT INTO glued SELECT 4, ? 'name', ?/ 3, ?", Args: []any{"text", 1.0, at}},
		{SQL: "INSERT INTO glued SELECT 5, ?\"name\", ?/3, ?", Args: []any{[]byte("text"), 0.1, at}},
		{SQL: "UPDATE glued SET s = CONCAT(s, ?)WHERE i=? OR i=?", Args: []any{"!", 4, -5}},
	} {
		_, err := by1(c.guard, fmt.Sprint(i), q.SQL, q.Args...)(t.Context())
		noError(t, err)
	}
	claimtest.WantRows(t, c.db, "SELECT CONCAT_WS(' ', i, s, d, at) FROM glued",
		"2", "3", "4 text! 0.3333333333333333 2026-01-02 03:04:05.678999", "5 text 0.03333333333333333 2026-01-02 03:04:05.678999")
}

// A value in a shared text is the one that it is as a parameter, whatever the connection's modes.
func TestTogetherValues(t *testing.T) {
	t.Parallel()
	for name, params := range map[string]string{
		"plain": "", "modes": "?sql_mode=%27ANSI_QUOTES%2CNO_BACKSLASH_ESCAPES%27", "oracle": "?sql_mode=ORACLE", "latin1": "?charset=latin1", "gbk": "?charset=gbk",
		"berlin": "?loc=Europe%2FBerlin", "truncated": "?timeTruncate=1s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setUpCompany(t, door{params: params})
			execute(t, c.db, "CREATE TABLE kept (i INT, how VARCHAR(9), v VARBINARY(700), w VARCHAR(700), n DOUBLE, PRIMARY KEY (i, how)) CHARACTER SET utf8mb4")
			const kept = "INSERT IGNORE INTO kept VALUES (?, ?, ?, ?, ? + 0)"
			for i, arg := range arguments() {
				_, err := by1(c.guard, fmt.Sprint(i), kept, i, "together", arg, arg, arg)(t.Context())
				noError(t, err)
				_, err = mysqlstore.Do(t.Context(), c.guard, key(fmt.Sprint("do", i)), asked(), func(ctx context.Context, tx *sql.Tx) (int, error) {
					_, err := tx.ExecContext(ctx, kept, i, "alone", arg, arg, arg)
					return 0, err
				})
				noError(t, err)
			}
			claimtest.WantRows(t, c.db, "SELECT CONCAT(a.i, ': ', COALESCE(HEX(a.v), 'NULL'), ' ', COALESCE(HEX(b.v), 'NULL'), ' ', COALESCE(a.n, 'NULL'), ' ', COALESCE(b.n, 'NULL')) "+
				"FROM kept a LEFT JOIN kept b ON b.i = a.i AND b.how = 'together' WHERE a.how = 'alone' AND NOT (a.v <=> b.v AND BINARY a.w <=> BINARY b.w AND a.n <=> b.n)")
		})
	}
}
