package pgstore

import (
	"strings"
	"testing"
)

// What no server at hand is.
func TestCheckServer(t *testing.T) {
	t.Parallel()
	good := server{version: 150000, name: "PostgreSQL 15.1", encoding: "UTF8", durability: "on", isolation: readCommitted, fsync: true}
	if err := good.check(false); err != nil {
		t.Error(err)
	}
	if settings := good.overrides(); len(settings) != 0 {
		t.Errorf("got %v, want nothing to override", settings)
	}
	old := good
	old.version, old.name = 120017, "PostgreSQL 12.17"
	for _, readOnly := range []bool{false, true} {
		if err := old.check(readOnly); err == nil || !strings.Contains(err.Error(), "PostgreSQL 12.17 (PostgreSQL 13 or newer is needed)") {
			t.Errorf("got %v", err)
		}
	}
	for _, name := range []string{"CockroachDB CCL v25.2.0", "PostgreSQL 15.2-YB-2.25.1.0-b0 on x86_64-pc-linux-gnu"} {
		other := good
		other.name, other.isolation = name, "serializable"
		if err := other.check(false); err != nil || !other.plain() || len(other.overrides()) != 0 {
			t.Errorf("got %v, plain %v, overrides %v", err, other.plain(), other.overrides())
		}
	}
}
