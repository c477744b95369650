package dedupe_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/schema/dedupe"
)

// The environment of a process that is to be killed.
const (
	childEnv = "SEMEL_DEDUPE_CHILD"
	planEnv  = "SEMEL_DEDUPE_PLAN"
	killEnv  = "SEMEL_DEDUPE_KILL"
	verbEnv  = "SEMEL_DEDUPE_VERB"
)

// verbs are those that tests kill.
func verbs() map[string]func(t *testing.T, in *dedupe.Database, p *dedupe.Plan) error {
	by := &dedupe.Options{By: "child"}
	return map[string]func(t *testing.T, in *dedupe.Database, p *dedupe.Plan) error{
		"install": func(t *testing.T, in *dedupe.Database, p *dedupe.Plan) error {
			t.Helper()
			_, err := in.InstallGuard(t.Context(), p, by)
			return err
		},
		"run": func(t *testing.T, in *dedupe.Database, p *dedupe.Plan) error {
			t.Helper()
			_, err := in.Run(t.Context(), p, by)
			return err
		},
		"remove": func(t *testing.T, in *dedupe.Database, _ *dedupe.Plan) error {
			t.Helper()
			_, err := in.RemoveGuard(t.Context(), "", "")
			return err
		},
		"finish": func(t *testing.T, in *dedupe.Database, p *dedupe.Plan) error {
			t.Helper()
			_, err := in.Finish(t.Context(), p, by)
			return err
		},
		"undo": func(t *testing.T, in *dedupe.Database, _ *dedupe.Plan) error {
			t.Helper()
			var run int64
			noError(t, in.DB.QueryRowContext(t.Context(), "SELECT max(id) FROM semel_dedupe_run WHERE undone_at IS NULL").Scan(&run))
			_, err := in.Undo(t.Context(), dedupe.Target{Run: run, DropIndex: true}, by)
			return err
		},
	}
}

// TestKilledVerb runs in a process of its own, which kills itself at one statement.
func TestKilledVerb(t *testing.T) { //nolint:paralleltest // it is a process of its own.
	dsn := os.Getenv(childEnv)
	verb := verbs()[os.Getenv(verbEnv)]
	if dsn == "" || verb == nil {
		t.Skip("other tests start it")
	}
	p, err := dedupe.ReadPlan(os.Getenv(planEnv))
	noError(t, err)
	in := connect(t, dialectOf(dsn), dsn)
	left, err := strconv.Atoi(os.Getenv(killEnv))
	noError(t, err)
	in.Before(func(string) {
		if left--; left == 0 {
			noError(t, syscall.Kill(os.Getpid(), syscall.SIGKILL))
		}
	})
	noError(t, verb(t, in, p))
}

// dialectOf is the name of the dialect of a DSN.
func dialectOf(dsn string) string {
	if name, _, _ := strings.Cut(dsn, ":"); name != "postgres" {
		return name
	}
	return "postgresql"
}

// stride is the distance between statements at which verbs are killed. MariaDB has more of them, and each definition is flushed.
func (b *bench) stride(usual, long, races int) int {
	if b.Dialect == dialect.MySQL {
		usual *= 2
	}
	return claimtest.Times(usual, long, races)
}

// killed runs a verb in a process that is killed at a statement; it reports false when the verb ended before that.
func (b *bench) killed(verb, file string, at int) bool {
	b.Helper()
	child := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^TestKilledVerb$")
	child.Env = append(os.Environ(), childEnv+"="+b.DSN, planEnv+"="+file, killEnv+"="+strconv.Itoa(at), verbEnv+"="+verb)
	out, err := child.CombinedOutput()
	if err == nil {
		return false
	}
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		b.Fatalf("%s, killed at statement %d: %v\n%s", verb, at, err, out)
	}
	b.free()
	return true
}

// A guard that was killed while it was installed or removed is found, and the next call completes either.
func TestKilledGuard(t *testing.T) {
	t.Parallel()
	everywhere(t, func(b *bench) {
		b.invoices()
		p := b.plan("invoice", "tenant;lower(trim(number))", marking())
		file := b.write(p)
		stride := b.stride(7, 5, 2)
		installing, removing, complete := 0, 0, ""
		for at, more := 1, true; more; at += stride {
			more = b.killed("install", file, at)
			if more {
				installing++
			}
			all, err := b.in.Guards(b.Context())
			noError(b.T, err)
			if objects := b.guardObjects(); len(all) == 0 && objects != "0" || more && len(all) == 1 && all[0].State == "installed" && objects != complete {
				b.Errorf("killed at statement %d, %s objects are there and the guards are %+v", at, objects, all)
			}
			b.guard(p)
			complete = b.guardObjects()
			if got := b.code("INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'b-1')"); got != b.same("invoice_tenant_number_key") {
				b.Errorf("killed at statement %d and completed, the guard gives %q", at, got)
			}
			if got := b.code("UPDATE invoice SET number = 'x' WHERE id = 3", "INSERT INTO invoice (id, tenant, number) VALUES (100, 1, 'b-1')", "UPDATE invoice SET number = 'B-1', note = 'y' WHERE id = 100"); got != "" {
				b.Errorf("killed at statement %d and completed, a value that is free again gives %q", at, got)
			}
			b.exec("DELETE FROM invoice WHERE id = 100", "UPDATE invoice SET number = 'B-1' WHERE id = 3")
			if b.killed("remove", file, at) {
				removing++
				_, err = b.in.RemoveGuard(b.Context(), "", "")
				noError(b.T, err)
			}
			b.unguarded()
		}
		if installing < 3 || removing < 2 {
			b.Errorf("%d installations and %d removals were killed", installing, removing)
		}
	})
}
