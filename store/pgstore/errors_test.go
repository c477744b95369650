package pgstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/testserver"
)

// Errors of the server say what to do, and a full server is reported to
// be. The errors are the server's own, raised in a trigger.
func TestErrorsOfTheServer(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := pool(t, testserver.Postgres(t), 1)
	name := quoted(s.SchemaName())
	rec := wins(t, s, params("k"))
	for _, test := range []struct {
		code, word string
		full, ends bool // it is full; waiting does not help
	}{
		{"53100", "free space", true, false},
		{"54000", "without keeping it", true, false},
		{"53200", "memory", false, false},
		{"53300", "max_connections", false, false},
		{"25006", "target_session_attrs=read-write", false, true},
		{"42501", "grant", false, true},
		{"42P01", "pgstore.Migrations", false, true},
		{"26000", "default_query_exec_mode=exec", false, false},
		{"57014", "statement_timeout", false, false},
		{"55P03", "lock_timeout", false, false},
		{"22012", "stalled for too long", false, false},
		{"XX000", "", false, false},
	} {
		execute(t, p, fmt.Sprintf(`CREATE OR REPLACE FUNCTION %[1]s.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'a value' USING ERRCODE = '%[2]s'; END $$;
CREATE OR REPLACE TRIGGER refuse BEFORE UPDATE ON %[1]s.record FOR EACH ROW EXECUTE FUNCTION %[1]s.refuse()`, name, test.code))
		err := s.Settle(t.Context(), rec.Digest, rec.Fence, completed("x"))
		wantWords(t, err, "settle", "a function or trigger refuses it", ".refuse)", test.code, test.word)
		if strings.Contains(err.Error(), "a value") {
			t.Errorf("%s: it has what the function says of a row: %v", test.code, err)
		}
		if errors.Is(err, semel.ErrFull) != test.full {
			t.Errorf("%s: got %v, want full %v", test.code, err, test.full)
		}
		if claimtest.Refused(err) != test.ends {
			t.Errorf("%s: got %v, want it refused for good %v", test.code, err, test.ends)
		}
		if test.code == "22012" { // it has been tried for seconds
			continue
		}
		_, errs, err := s.Batch(t.Context(), nil, []semel.SettleParams{{Digest: rec.Digest, Fence: rec.Fence, Settlement: completed("x")}})
		if err == nil {
			t.Errorf("%s: a batch that was refused returned %v", test.code, errs)
		}
	}
	execute(t, p, "DROP TRIGGER refuse ON "+name+".record")
	settles(t, s, rec, completed("x"))
}

// What passes on its own is tried again: the trigger refuses the first times.
func TestRetries(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	p := pool(t, testserver.Postgres(t), 1)
	name := quoted(s.SchemaName())
	rec := wins(t, s, params("k"))
	for i, code := range []string{"40001", "40P01", "22012"} {
		execute(t, p, fmt.Sprintf(`CREATE SEQUENCE %[1]s.tries%[3]d;
CREATE OR REPLACE FUNCTION %[1]s.refuse() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN IF nextval('%[1]s.tries%[3]d') < 4 THEN RAISE EXCEPTION 'a value' USING ERRCODE = '%[2]s'; END IF; RETURN NEW; END $$;
CREATE OR REPLACE TRIGGER refuse BEFORE UPDATE ON %[1]s.record FOR EACH ROW EXECUTE FUNCTION %[1]s.refuse()`, name, code, i))
		if err := s.Renew(t.Context(), rec.Digest, rec.Fence, lease); err != nil {
			t.Errorf("%s: %v", code, err)
		}
	}
}
