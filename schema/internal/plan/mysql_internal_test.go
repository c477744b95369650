package plan

import (
	"testing"

	"github.com/semel-dev/semel/schema/catalog"
)

// Servers that are not here get the statements that they know.
func TestVersionsOfMySQL(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]struct {
		collation string
		hide      bool
	}{
		"8.0.16":                {"utf8mb4_bin", false},
		"8.0.17-log":            {"utf8mb4_0900_bin", false},
		"8.0.22":                {"utf8mb4_0900_bin", false},
		"8.0.23":                {"utf8mb4_0900_bin", true},
		"8.4.6":                 {"utf8mb4_0900_bin", true},
		"9.5.0":                 {"utf8mb4_0900_bin", true},
		"10.3.39-MariaDB-log":   {"utf8mb4_nopad_bin", true},
		"10.11.6-MariaDB-1:deb": {"utf8mb4_nopad_bin", true},
	} {
		m := &maker{schema: &catalog.Schema{Server: server}}
		if got := m.exactCollation(); got != want.collation || m.canHide() != want.hide {
			t.Errorf("%s: got %s, hide %v; want %s, %v", server, got, m.canHide(), want.collation, want.hide)
		}
	}
}
