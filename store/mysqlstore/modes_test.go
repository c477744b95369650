package mysqlstore_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
	"github.com/semel-dev/semel/store/mysqlstore"
	"github.com/semel-dev/semel/store/storetest"
)

// telling are the rules that a connection's settings could break: affected rows, literals, bytes, texts and empty values.
func telling() []string {
	return []string{
		"claim/absent", "claim/similar-digests", "claim/takeover-lapsed", "fence/grows-after-release", "renew/live",
		"settle/repeated", "settle/unknown-resolved", "settle/stale", "outcome/bytes", "outcome/note", "key/any-text",
		"list/filters", "sweep/moved",
	}
}

// concurrent are the rules that an isolation level could break.
func concurrent() []string {
	return []string{"race/claim", "race/takeover", "race/renew-or-takeover", "race/fences"}
}

// Every promise holds whatever the settings of the caller's pool are. The statements are sent in each of the ways that the driver
// has. The short form tries the first three.
func TestCallersPool(t *testing.T) {
	t.Parallel()
	for i, test := range []struct {
		name, params string
		rules        []string
	}{
		{"the driver's defaults", "", telling()},
		{"clientFoundRows", "clientFoundRows=true&" + fast, telling()},
		{"snapshots", snapshots + "&" + fast, append(telling(), concurrent()...)},
		{"several statements", "multiStatements=true", telling()},
		{"gbk", "charset=gbk", telling()},
		{"another collation", "collation=utf8mb4_swedish_ci&" + fast, telling()},
		{
			"time zone and safe updates",
			"time_zone=%27%2B05%3A30%27&parseTime=true&loc=Asia%2FKolkata&sql_safe_updates=1&sql_select_limit=1000&" + fast, telling(),
		},
		{"steps of counters", "auto_increment_increment=7&auto_increment_offset=3&" + fast, append(telling(), concurrent()...)},
		{"serializable snapshots", "tx_isolation=%27SERIALIZABLE%27&" + snapshots + "&" + fast, concurrent()},
		{"read committed", "tx_isolation=%27READ-COMMITTED%27&" + fast, concurrent()},
	} {
		if i > 2 && !claimtest.Long() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, harness(t, test.params, nil), test.rules...)
		})
	}
}

// The same for the modes in which the server reads and checks statements. In those that change literals, both ways of sending
// arguments are tried. The short form tries the first one.
func TestModes(t *testing.T) {
	t.Parallel()
	for i, test := range []struct{ mode, params string }{
		{"ANSI_QUOTES,NO_BACKSLASH_ESCAPES", fast},
		{"", fast},
		{"ANSI_QUOTES,NO_BACKSLASH_ESCAPES", ""},
		{"EMPTY_STRING_IS_NULL,STRICT_ALL_TABLES", ""},
		{"SIMULTANEOUS_ASSIGNMENT,PAD_CHAR_TO_FULL_LENGTH,ONLY_FULL_GROUP_BY,NO_UNSIGNED_SUBTRACTION", ""},
		{"TRADITIONAL,HIGH_NOT_PRECEDENCE,NO_AUTO_VALUE_ON_ZERO,IGNORE_SPACE", fast},
		{"ORACLE", fast},
	} {
		if i > 0 && !claimtest.Long() {
			continue
		}
		t.Run(test.mode+" "+test.params, func(t *testing.T) {
			t.Parallel()
			mode := "sql_mode=%27" + strings.ReplaceAll(test.mode, ",", "%2C") + "%27&clientFoundRows=true&"
			storetest.Run(t, harness(t, mode+test.params, mysqlstore.WithoutReturning), telling()...)
		})
	}
}

// Promise 9: there is one clock, in whatever time zone a connection is.
func TestTimeZones(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t)
	zones := []string{"%2B05%3A30", "-08%3A00", "%2B00%3A00"}
	var stores []*mysqlstore.Store
	for _, zone := range zones {
		stores = append(stores, newStore(t, pool(t, dsn, "time_zone=%27"+zone+"%27&"+fast), nil))
	}
	rec := wins(t, stores[0], params("k"))
	for i, s := range stores {
		got, err := s.Lookup(t.Context(), rec.Digest)
		if left := got.LeaseLeft(); err != nil || left <= 0 || left > lease {
			t.Errorf("in time zone %s the lease has %v left, error %v, want at most %v", zones[i], left, err, lease)
		}
		noError(t, s.Close())
	}
}

// Promise 2: no duplicate is answered with an outcome that may yet be rolled back.
func TestReadUncommittedIsRefused(t *testing.T) {
	t.Parallel()
	const level = "?tx_isolation=%27READ-UNCOMMITTED%27"
	dsn := testserver.MySQLDatabase(t)
	refuses(t, dsn+level, nil, "set tx_isolation='READ-COMMITTED' in the DSN")
	_, err := mysqlstore.New(t.Context(), quietPool(t, dsn+level), nil)
	wantWords(t, err, "set tx_isolation='READ-COMMITTED' in the DSN")
}

// Whatever the DSN asks for, a store's own pool has the settings it needs.
func TestOwnPoolOverrides(t *testing.T) {
	t.Parallel()
	dsn := testserver.MySQLDatabase(t) + "?clientFoundRows=true&sql_mode=%27%27&autocommit=0&multiStatements=false&charset=gbk&collation=gbk_chinese_ci&completion_type=%27CHAIN%27&sql_select_limit=1"
	s := open(t, dsn, nil)
	for name, want := range map[string]string{
		"sql_mode": "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION", "autocommit": "1",
		"completion_type": "NO_CHAIN", "sql_select_limit": "18446744073709551615",
		"innodb_lock_wait_timeout": "3", // soon enough for what was left behind in the server
	} {
		if got, err := s.Session(t.Context(), name); err != nil || got != want {
			t.Errorf("%s is %q, error %v, want %q", name, got, err, want)
		}
	}
	rec := wins(t, s, params("k"))
	settles(t, s, rec, completed("\xbf\x27"))
	other := open(t, dsn, nil)
	if got, err := other.Lookup(t.Context(), rec.Digest); err != nil || string(got.Outcome) != "\xbf\x27" {
		t.Errorf("another store reads %q, error %v, want what was settled", got.Outcome, err)
	}
}
