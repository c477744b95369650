package postgres_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/lint/internal/postgres"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// TestJoin checks what a trigger learns from its function.
func TestJoin(t *testing.T) {
	t.Parallel()
	const (
		sets = "BEGIN NEW.a := 1; RETURN NEW; END"
		logs = "BEGIN NEW.a := 1; INSERT INTO l VALUES (NEW.a); RETURN NEW; END"
	)
	tests := []struct {
		name, body, when string
		unknown          bool
		sets             int
	}{
		{"before", sets, "BEFORE INSERT OR UPDATE ON t FOR EACH ROW", false, 1},
		{"after", sets, "AFTER UPDATE ON t FOR EACH ROW", false, 0},
		{"statement", sets, "BEFORE UPDATE ON t", false, 0},
		{"after, and uses it", logs, "AFTER UPDATE ON t FOR EACH ROW", true, 0},
		{"may leave out the row", "BEGIN IF NEW.a = 1 THEN RETURN NULL; END IF; RETURN NEW; END", "BEFORE UPDATE ON t FOR EACH ROW", true, 0},
		{"changed rows as a table", "BEGIN RETURN NULL; END", "AFTER UPDATE ON t REFERENCING NEW TABLE AS l FOR EACH STATEMENT", false, 0},
		{"null after the row", "BEGIN RETURN NULL; END", "AFTER UPDATE ON t FOR EACH ROW", false, 0},
		{"old replaces new", "BEGIN RETURN OLD; END", "BEFORE UPDATE ON t FOR EACH ROW", true, 0},
		{"old of a deletion", "BEGIN RETURN OLD; END", "BEFORE DELETE ON t FOR EACH ROW", false, 0},
		{"new of a deletion", "BEGIN RETURN NEW; END", "BEFORE DELETE ON t FOR EACH ROW", true, 0},
		{"new of both", "BEGIN RETURN NEW; END", "BEFORE DELETE OR UPDATE ON t FOR EACH ROW", true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ " + tt.body + " $$; CREATE TRIGGER x " + tt.when + " EXECUTE FUNCTION f()"
			all := postgres.Parse(text)
			if len(all) != 2 {
				t.Fatalf("%d statements", len(all))
			}
			function, ok := all[0].Statement.(*tree.Define)
			if !ok || function.Function == nil {
				t.Fatalf("got %s", dump(all[0].Statement))
			}
			trigger, ok := all[1].Statement.(*tree.Define)
			if !ok || trigger.Trigger == nil || !strings.Contains(trigger.Trigger.Unknown, "elsewhere") {
				t.Fatalf("got %s", dump(all[1].Statement))
			}
			function.Function.Join(trigger.Trigger)
			if got := trigger.Trigger; (got.Unknown != "") != tt.unknown || !tt.unknown && len(got.Sets) != tt.sets {
				t.Errorf("got %s", dump(got))
			}
		})
	}
}
