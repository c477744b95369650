// Program compat runs our tests on many servers, proxies and browsers, one after the other, and writes
// docs/compatibility.md from the results. Start it through scripts/compatibility, which installs them.
//
//	compat -only 'PostgreSQL 18' -suite contract
//
// Results are kept in results.json: a run replaces those of the targets and suites that it ran, and leaves the others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compat:", err)
		os.Exit(1)
	}
}

// writeOnly matches no server: the page is written again from the results that are kept.
const writeOnly = "^$"

// errFound says that a test failed for which no reason is known.
var errFound = errors.New("tests failed: see above")

func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("compat", flag.ContinueOnError)
	only := flags.String("only", ".", "the servers, proxies and browsers to run, as a `regexp` of their names; ^$ writes the page only")
	suite := flags.String("suite", ".", "the suites to run, as a `regexp` of their names")
	write := flags.Bool("write", true, "write the results and the page")
	if err := flags.Parse(args); err != nil {
		return err
	}
	places, err1 := regexp.Compile(*only)
	suites, err2 := regexp.Compile(*suite)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	all, err := readResults(resultsFile)
	if err != nil {
		return err
	}
	ran, passed, unexplained := 0, 0, 0
	for _, p := range targets() {
		if !places.MatchString(p.name) {
			continue
		}
		row, err := p.run(ctx, suites, log)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		ran += len(row.Cells)
		passed += row.passed()
		unexplained += row.unexplained(&p)
		row.Date = time.Now().UTC().Format(time.DateOnly)
		all.put(p.name, row)
		if *write {
			if err := save(all); err != nil {
				return err
			}
		}
	}
	if ran == 0 && *only != writeOnly {
		return fmt.Errorf("nothing named %q has a suite %q", *only, *suite)
	}
	if *only == writeOnly {
		return save(all)
	}
	_, _ = fmt.Fprintf(log, "DONE %d tests, %d failures\n", passed+unexplained, unexplained) // as gotestsum counts, for scripts/test
	if unexplained > 0 {
		return errFound
	}
	return nil
}

// save writes what is known so far.
func save(all results) error {
	return errors.Join(writeResults(resultsFile, all), os.WriteFile(pageFile, []byte(page(all)), 0o644)) //nolint:gosec // a page
}
