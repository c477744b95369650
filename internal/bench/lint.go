package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/bench/contest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/internal/lint/mysql"
	"github.com/semel-dev/semel/internal/lint/postgres"
	"github.com/semel-dev/semel/internal/lint/sqlite"
	"github.com/semel-dev/semel/internal/lint/tree"
	"github.com/semel-dev/semel/lint"
)

const (
	judgeData = "internal/lint/judge/testdata/"
	// judged counts the statements of one measurement, and aimJudged bounds its time.
	judged    = 10_000
	aimJudged = time.Second
	// vetRounds counts the times that each program vets the module; aimVet bounds the time of semelvet as a multiple of that of go vet.
	vetRounds = 3
	aimVet    = 1.3
)

// benchLint judges statements that are parsed alone as well, and vets this module by go vet and by semelvet.
func benchLint(ctx context.Context, s *contest.Settings) (*contest.Table, error) {
	t := &contest.Table{Title: fmt.Sprintf("lint: %d statements in a file, and this module with its tests", judged), Times: "time"}
	parsers := map[dialect.Dialect]func(string) []tree.Parsed{dialect.PostgreSQL: postgres.Parse, dialect.MySQL: mysql.Parse, dialect.SQLite: sqlite.Parse}
	for _, d := range dialect.All() {
		parsing, whole, err := judge(ctx, s, d, parsers[d])
		if err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows,
			contest.Row{Subject: d.String() + ": parsed alone", Time: seconds(parsing)},
			contest.Row{
				Subject: d.String() + ": read, parsed and judged", Time: seconds(whole),
				Against: fmt.Sprintf("%.1f × the time of parsing", float64(whole)/float64(parsing)),
				Aim:     "< " + seconds(aimJudged), Met: contest.VerdictOf(whole < aimJudged),
			})
	}
	return t, vetted(ctx, s, t)
}

// judge returns the medians of parsing the statements, and of all that semel lint does with them.
func judge(ctx context.Context, s *contest.Settings, d dialect.Dialect, parse func(string) []tree.Parsed) (parsing, whole time.Duration, err error) {
	text, err := statementsOfTruth(d)
	if err != nil {
		return 0, 0, err
	}
	file := filepath.Join(s.Dir, d.String()+".sql")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return 0, 0, err
	}
	o := &lint.Options{Dialect: d.String(), Schema: []string{judgeData + "schema_" + d.String() + ".sql"}}
	var parsed, all []float64
	for range s.Rounds {
		from := time.Now()
		if n := len(parse(text)); n < judged {
			return 0, 0, fmt.Errorf("%v: %d statements were parsed, want %d", d, n, judged)
		}
		parsed = append(parsed, float64(time.Since(from)))
		from = time.Now()
		found, err := lint.Run(ctx, []string{file}, o)
		if err == nil && len(found) != judged {
			err = fmt.Errorf("%v: %d findings, want %d", d, len(found), judged)
		}
		if err != nil {
			return 0, 0, err
		}
		all = append(all, float64(time.Since(from)))
	}
	return time.Duration(contest.ValueOf(parsed).Median), time.Duration(contest.ValueOf(all).Median), nil
}

// statementsOfTruth returns statements of a dialect, one on a line.
func statementsOfTruth(d dialect.Dialect) (string, error) {
	text, err := os.ReadFile(judgeData + "truth.tsv")
	if err != nil {
		return "", fmt.Errorf("run it at the root of the repository: %w", err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); fields[0] == d.String() {
			all = append(all, strings.TrimSuffix(fields[len(fields)-1], ";")+";\n")
		}
	}
	if len(all) == 0 {
		return "", fmt.Errorf("%struth.tsv has no statements of %v", judgeData, d)
	}
	var out strings.Builder
	for i := range judged {
		out.WriteString(all[i%len(all)])
	}
	return out.String(), nil
}

// vetted measures semelvet on this module against the checks of go vet. The go command keeps what a tool said of a package, so
// each round gives go vet another setting, and semelvet another build ID.
func vetted(ctx context.Context, s *contest.Settings, t *contest.Table) error {
	program := filepath.Join(s.Dir, "semelvet")
	var times [2][]float64
	for range vetRounds {
		id := fmt.Sprintf("round%d", time.Now().UnixNano())
		if err := goCommand(ctx, "build", "-o", program, "-ldflags=-buildid="+id, "./cmd/semelvet"); err != nil {
			return err
		}
		for i, how := range []string{"-printf.funcs=" + id, "-vettool=" + program} {
			from := time.Now()
			if err := goCommand(ctx, "vet", how, "-json", "./..."); err != nil {
				return err
			}
			times[i] = append(times[i], float64(time.Since(from)))
		}
	}
	bare, ours := time.Duration(contest.ValueOf(times[0]).Median), time.Duration(contest.ValueOf(times[1]).Median)
	ratio := contest.Ratio(times[1], times[0])
	t.Rows = append(t.Rows,
		contest.Row{Subject: "go vet ./...", Time: seconds(bare)},
		contest.Row{
			Subject: "go vet -vettool=semelvet ./...", Time: seconds(ours), Against: fmt.Sprintf("%v × the time of go vet", ratio),
			Aim: fmt.Sprintf("≤ %.1f ×", aimVet), Met: ratio.AtMost(aimVet),
		})
	return nil
}

func goCommand(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput() //nolint:gosec // tools of this module.
	if err != nil {
		const most = 2000 // bytes of what it says
		return errors.Join(fmt.Errorf("go %s: %w", strings.Join(args, " "), err), errors.New(string(out[:min(len(out), most)])))
	}
	return nil
}
