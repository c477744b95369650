package command

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/rueidis"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/cmd/semel/internal/storecheck"
	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
	"github.com/semel-dev/semel/internal/testserver"
)

var noError = claimtest.NoError

// serverDSNs returns DSNs of databases for the test.
func serverDSNs(t *testing.T) map[string]string {
	t.Helper()
	mysql := strings.TrimSuffix(testserver.MySQLDatabase(t), "/")
	_, database, _ := strings.Cut(mysql, "/")
	user, rest, _ := strings.Cut(mysql, "@tcp(")
	address, _, _ := strings.Cut(rest, ")")
	redis := testserver.Redis(t)
	return map[string]string{
		"postgres": testserver.PostgresDatabase(t),
		"mysql":    "mysql://" + user + "@" + address + "/" + database,
		"redis":    "redis://" + redis + "?semel_prefix=" + url.QueryEscape(testserver.RedisPrefix(t, redis)),
	}
}

// semelCommand runs a command line and returns what it printed.
func semelCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs, func(string) string { return "" })
	return code, out.String(), errs.String()
}

// TestCheckStoreOnServers: every check holds on the real databases, and nothing is left behind.
func TestCheckStoreOnServers(t *testing.T) {
	t.Parallel()
	for kind, dsn := range serverDSNs(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := semelCommand(t, "check-store", "--json", "--keys", "16", dsn)
			var report storecheck.Report
			if err := json.Unmarshal([]byte(stdout), &report); err != nil {
				t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
			}
			want := cli.ExitFine
			if slices.ContainsFunc(report.Findings, func(f storecheck.Finding) bool { return f.Verdict == storecheck.Warned }) {
				want = cli.ExitFound // by the settings of this server
			}
			if code != want || report.Store != kind || len(report.Findings) < 6 {
				t.Errorf("exit %d, store %q, %d findings, want %d, %q, at least 6: %s", code, report.Store, len(report.Findings), want, kind, stderr)
			}
			for _, f := range report.Findings {
				want := storecheck.Held
				if f.Name == "failover" || f.Name == "transaction" && kind == "redis" {
					want = storecheck.Untried
				}
				if f.Verdict != want && f.Name != "settings" || f.Verdict == storecheck.Untried && f.Advice == "" {
					t.Errorf("%s: %s %v, want %s", f.Name, f.Verdict, f.Details, want)
				}
			}
			if left := leftBehind(t, kind, dsn); len(left) > 0 {
				t.Errorf("the check left %v behind", left)
			}
		})
	}
}

// leftBehind lists everything of a check that is still in the database.
func leftBehind(t *testing.T, kind, dsn string) (names []string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	switch kind {
	case "postgres":
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		rows, err := conn.Query(ctx, "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'semel%'")
		if err != nil {
			t.Fatal(err)
		}
		if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
	case "mysql":
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("mysql", u.User.String()+"@tcp("+u.Host+")"+u.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var list sql.NullString
		noError(t, db.QueryRowContext(ctx, "SELECT GROUP_CONCAT(table_name) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&list))
		if list.String != "" {
			names = strings.Split(list.String, ",")
		}
	case "redis":
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{testserver.Redis(t)}, DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if names, err = client.Do(ctx, client.B().Keys().Pattern("semel_check_*").Build()).AsStrSlice(); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestRecordsOnServers: the verbs for operators work on every store.
func TestRecordsOnServers(t *testing.T) {
	t.Parallel()
	for kind, dsn := range serverDSNs(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			store, err := openstore.Open(t.Context(), dsn, nil)
			if err != nil {
				t.Fatal(err)
			}
			key := semel.Key{Scope: "shop", Name: "order-1"}
			rec, won, err := store.Claim(t.Context(), semel.ClaimParams{
				Digest: key.Digest(), Scope: key.Scope, Name: key.Name, Owner: semel.Owner{1}, Lease: time.Minute, Retention: time.Hour,
			})
			if err != nil || !won {
				t.Fatalf("claim: won %v, %v", won, err)
			}
			unknown := semel.Settlement{State: semel.StateUnknown, Note: "connection lost", Retention: time.Hour}
			noError(t, store.Settle(t.Context(), rec.Digest, rec.Fence, unknown))
			noError(t, store.Close())
			for _, step := range []struct {
				args []string
				want string
			}{
				{[]string{"records", "list", "--json", "--state", "unknown"}, `"order-1"`},
				{[]string{"records", "show", "--json", rec.Digest.String()[:12]}, "connection lost"},
				{[]string{"records", "resolve", "--json", "--as", "released", "--fence", strconv.FormatUint(uint64(rec.Fence), 10), "--reason", "looked", rec.Digest.String()}, "released"},
				{[]string{"records", "sweep", "--json"}, `"removed":`},
			} {
				code, stdout, stderr := semelCommand(t, append(step.args, "--store", dsn)...)
				swept := step.args[1] == "sweep" && strings.Contains(stderr, "by itself")
				if !swept && (code != cli.ExitFine || !strings.Contains(stdout, step.want)) {
					t.Errorf("%v: exit %d, %s%s, want %q", step.args, code, stdout, stderr, step.want)
				}
			}
		})
	}
}

// TestCheckStoreFindsSettings: settings by which answers can be executed again are found, whether the store accepts them or not.
func TestCheckStoreFindsSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		conf map[string]string
		want string // in the output
	}{
		"forgets at a crash": {nil, "may be executed again"},
		"evicts":             {map[string]string{"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, "maxmemory-policy is allkeys-lru"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testserver.StartRedis(t, &testserver.RedisOptions{Conf: test.conf})
			code, stdout, stderr := semelCommand(t, "check-store", "--json", "--keys", "4", "redis://"+server.Addr())
			if code != cli.ExitFound || !strings.Contains(stdout+stderr, test.want) {
				t.Errorf("exit %d, want %d and %q: %s%s", code, cli.ExitFound, test.want, stdout, stderr)
			}
		})
	}
}

// TestCheckStoreReportsLimits: a refusal because of size is a limit, and not a broken promise.
func TestCheckStoreReportsLimits(t *testing.T) {
	t.Parallel()
	server := testserver.StartMySQL(t, &testserver.MySQLOptions{Conf: map[string]string{"max-allowed-packet": "16384"}})
	db, err := sql.Open("mysql", server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "CREATE DATABASE small")
	noError(t, errors.Join(err, db.Close()))
	code, stdout, stderr := semelCommand(t, "check-store", "--json", "--keys", "4", "mysql://root@"+server.Addr()+"/small")
	var report storecheck.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != cli.ExitFound {
		t.Fatalf("exit %d, want %d, %v: %s%s", code, cli.ExitFound, err, stdout, stderr)
	}
	limited := 0
	for _, f := range report.Findings {
		if f.Verdict == storecheck.Limited {
			limited++
		}
		if f.Verdict == storecheck.Broken || f.Verdict == storecheck.Failed {
			t.Errorf("%s: %s %v", f.Name, f.Verdict, f.Details)
		}
	}
	if limited == 0 {
		t.Errorf("no finding reports the limit: %s", stdout)
	}
}
