package spelling_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/rules/spelling"
)

// TestNearest: a letter missing, too many, wrong or swapped with its neighbour is
// forgiven, another word is not.
func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"is", "Orders", strings.Repeat("a", 200), "table", "fields", "on_conflict", "tenant_id", "TenantName", strings.Repeat("long_", 25) + "words"}
	for word, want := range map[string]string{
		"tabel": "table", "tabl": "table", "Table": "table", "field": "fields", "feilds": "fields", "onconflict": "on_conflict", "tenantid": "tenant_id",
		"invoices": "", "x": "", "": "", "a_word_that_is_longer_than_forty_letters_": "", "tenantname": "TenantName",
		strings.Repeat("long_", 25) + "word": "", "oredrs": "Orders", "i": "", strings.Repeat("a", 199): "",
	} {
		if got := spelling.Nearest(word, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
