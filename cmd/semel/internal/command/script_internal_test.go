package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/store/sqlitestore"
)

// patience bounds how long a script waits for an event.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"semel":        func() { endWithParent(); os.Exit(Main(nil)) },
		"http":         command(2, httpCommand),
		"deliver":      command(4, deliverCommand),
		"upstream":     command(2, upstreamCommand),
		"pages":        command(2, pagesCommand),
		"sample":       command(2, sampleCommand),
		"fill-store":   command(1, fillStoreCommand),
		"flip-bit":     command(2, flipBit),
		"fill-inbox":   command(1, fillInboxCommand),
		"run-outbox":   command(3, runOutboxCommand),
		"future-store": command(1, futureStoreCommand),
		"run-sql":      command(2, runSQLCommand),
	})
}

// endWithParent ends a command that a script left in the background once the test that started it was killed.
func endWithParent() {
	parent := os.Getppid()
	go func() {
		for range time.Tick(time.Second) {
			if os.Getppid() != parent {
				os.Exit(1)
			}
		}
	}()
}

// command is a program for scripts, with at least that many arguments.
func command(least int, run func(args []string) error) func() {
	return func() {
		endWithParent()
		err := errors.New("arguments are missing: see TestScripts")
		if len(os.Args) > least {
			err = run(os.Args[1:])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// TestScripts runs the scripts of testdata/script, one behaviour each. In addition to semel itself they can use:
//
//	fill-store FILE          makes a store with a record in every state, in a file of SQLite or log:DIR
//	flip-bit FILE OFFSET     changes one bit of a file
//	fill-inbox FILE          puts two messages into quarantine, or handles what was released
//	run-outbox FILE STORE REFUSED [ID…]  adds messages to an outbox and publishes them, but for one
//	future-store FILE        makes a store whose schema is from the future
//	run-sql FILE SQL         runs the statements of a file in an SQLite database
//	upstream READY LOG       serves an application; writes its URL to READY and
//	                         the requests that it executes to LOG
//	pages DIR READY          serves the files of a directory, writes its URL to READY;
//	                         /moved redirects to /form.html, and paths that start with
//	                         private need the cookie sid
//	sample NAME READY        serves an example, and writes its URL to READY
//	deliver URL ID AGE BODY  sends a webhook, signed so long ago with $SHOP_WEBHOOK_SECRET
//	http METHOD URL [NAME:VALUE…] [BODY]  sends a request and prints the answer
//	env-from FILE            waits for a ready file; its names become variables
//	env-digest NAME          sets $digest and $fence from the record of this name in
//	                         semel.db
//	until FILE REGEXP        waits until the file matches
//	until-http URL STATUS    waits until a GET is answered with the status
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("SEMEL_UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("SEMEL_LOG_FORMAT", "text")
			env.Setenv("GORACE", "atexit_sleep_ms=0 exitcode=66") // every command would sleep for a second
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"env-from":   envFrom,
			"until":      until,
			"until-http": untilHTTP,
			"env-digest": envDigest,
		},
	})
}

// envFrom waits for a ready file and turns its lines of name=URL into variables.
func envFrom(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: env-from FILE")
	}
	text := awaitFile(ts, args[0], regexp.MustCompile(`\n$`))
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		ts.Setenv(name, value)
	}
}

// envDigest sets $digest and $fence from the record of this name.
func envDigest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: env-digest NAME")
	}
	store, err := sqlitestore.Open(context.Background(), ts.MkAbs("semel.db"), &sqlitestore.Options{ReadOnly: true})
	ts.Check(err)
	page, err := store.List(context.Background(), semel.ListParams{Name: args[0]})
	ts.Check(errors.Join(err, store.Close()))
	if len(page.Records) != 1 {
		ts.Fatalf("%d records have the name %s", len(page.Records), args[0])
	}
	ts.Setenv("digest", page.Records[0].Digest.String()[:digestShown])
	ts.Setenv("fence", strconv.FormatUint(uint64(page.Records[0].Fence), 10))
}

// until waits until a file matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until FILE REGEXP")
	}
	awaitFile(ts, args[0], regexp.MustCompile("(?m)"+args[1]))
}

// untilHTTP waits until a GET is answered with the status.
func untilHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until-http URL STATUS")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	last := ""
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
		ts.Check(err)
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		if err != nil {
			last = err.Error()
			continue
		}
		response.Body.Close()
		if last = response.Status; strings.HasPrefix(last, args[1]) {
			return
		}
	}
	ts.Fatalf("%s did not come to answer %s; at last: %s", args[0], args[1], last)
}

func awaitFile(ts *testscript.TestScript, name string, want *regexp.Regexp) []byte {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(ts.MkAbs(name))
		if err == nil && want.Match(text) {
			return text
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			ts.Fatalf("%s did not come to match %s: %v\n%s", name, want, err, text)
		}
	}
}

// TestPlain escapes text that could control a terminal.
func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"order-1":         "order-1",
		"Zoë 订单":          "Zoë 订单",
		"a\x1b[2Jb":       `a\u001b[2Jb`,
		"line\nbreak":     `line\u000abreak`,
		"bidi \u202e end": `bidi \u202e end`,
	} {
		if got := cli.Plain(in); got != want {
			t.Errorf("plain(%q): got %q, want %q", in, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		-time.Second: "0ms", 0: "0ms", 900 * time.Millisecond: "900ms", 59 * time.Second: "59s",
		90 * time.Second: "1m", 25 * time.Hour: "1d", 100 * time.Hour: "4d",
	} {
		if got := span(in); got != want {
			t.Errorf("span(%v): got %q, want %q", in, got, want)
		}
	}
}

// TestTable prints the list as on a terminal.
func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := cli.SheetOf(cli.NewTableSheet(&cli.Process{Stdout: &out}, titles(), "No records."), row)
	rec := sampleRecord()
	rec.Scope = strings.Repeat("long scope ", 10)
	noError(t, w.Write(&rec))
	noError(t, w.End())
	for _, want := range []string{"│ DIGEST", "order-1", "unknown (lapsed)", "long scope long scope", "…"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table does not show %q:\n%s", want, out.String())
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines != 5 {
		t.Errorf("the table of one record has %d lines, want 5:\n%s", lines, out.String())
	}
}
