package lintcmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/lint"
)

var lintNoError = claimtest.NoError

// lintFolder writes a folder with statements of each kind, and returns the arguments that lint it.
func lintFolder(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{
		"schema.sql":   "CREATE TABLE t (id bigint PRIMARY KEY, n int NOT NULL, at timestamptz);",
		"q/a b%20.sql": "UPDATE t SET n = n - 1 WHERE id = $1;\n-- semel:safe the caller holds a claim\nUPDATE t SET n = n + 1;\nSELEC 1;\nSELECT 1; -- semel:safe it reads\nUPDATE t SET at = now();",
	} {
		path := filepath.Join(folder, name)
		lintNoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		lintNoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return []string{"--dialect", "postgresql", "--schema", filepath.Join(folder, "schema.sql"), filepath.Join(folder, "q")}
}

// The log in SARIF has what the schema of SARIF 2.1.0 requires, every rule that a result names, and no safe statement.
func TestLintSARIF(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	cmd := New(&cli.Process{Stdout: &stdout, Stderr: io.Discard, Getenv: os.Getenv})
	cmd.SetArgs(append(lintFolder(t), "--sarif"))
	err := cmd.ExecuteContext(t.Context())
	if ended := (&cli.ExitError{}); !errors.As(err, &ended) || ended.Code != cli.ExitFound {
		t.Fatal(err)
	}
	var doc sarifLog
	decoder := json.NewDecoder(&stdout)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "2.1.0" || len(doc.Runs) != 1 || doc.Runs[0].Tool.Driver.Name == "" {
		t.Fatalf("got %+v", doc)
	}
	ids := map[string]bool{}
	for _, rule := range doc.Runs[0].Tool.Driver.Rules {
		if ids[rule.ID] || rule.ShortDescription.Text == "" || rule.Help.Text == "" || rule.HelpURI == "" {
			t.Errorf("rule %+v is there twice, or says too little", rule)
		}
		ids[rule.ID] = true
	}
	results := doc.Runs[0].Results
	if len(results) != 4 {
		t.Errorf("got %d results, want 4", len(results))
	}
	suppressed := 0
	for _, r := range results {
		at := r.Locations[0].Physical
		if doc.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Message.Text == "" || len(r.Fingerprints) != 1 ||
			at.Region.StartLine < 1 || at.Region.StartColumn < 1 || !strings.HasSuffix(at.Artifact.URI, "/q/a%20b%2520.sql") || !strings.HasPrefix(at.Artifact.URI, "file:///") {
			t.Errorf("got %+v", r)
		}
		for _, s := range r.Suppressions {
			suppressed++
			if s.Kind != "inSource" || s.Justification != "the caller holds a claim" {
				t.Errorf("got %+v", s)
			}
		}
	}
	if suppressed != 1 {
		t.Errorf("%d results are suppressed, want 1", suppressed)
	}
}

// Relative paths are those of the repository, a guard that is a text is a fix, and a log has no more results than GitHub takes: the
// worst.
func TestLintSARIFForGitHub(t *testing.T) {
	t.Parallel()
	var out, remarks bytes.Buffer
	l := sarifOf(&cli.Process{Stdout: &out, Stderr: &remarks})
	one := lint.Finding{File: "a b.sql", Line: 1, Column: 1, Text: "SELECT", Verdict: lint.CannotTell, Rule: "opaque", Why: "why"}
	for range maxSARIF {
		lintNoError(t, l.Write(&lintRow{Finding: &one}))
	}
	last := one
	last.Verdict, last.Rule, last.Guard, last.Fix = lint.NotSafe, "different-values", "SET n = excluded.n", &lint.Fix{Line: 1, Column: 2, EndLine: 1, EndColumn: 3, Text: "excluded.n"}
	lintNoError(t, l.Write(&lintRow{Finding: &last}))
	lintNoError(t, l.End())
	var doc sarifLog
	lintNoError(t, json.Unmarshal(out.Bytes(), &doc))
	results := doc.Runs[0].Results
	if len(results) != maxSARIF || !strings.Contains(remarks.String(), "25000 worst of 25001") {
		t.Errorf("got %d results, and %q", len(results), remarks.String())
	}
	want := sarifArtifact{"a%20b.sql", "%SRCROOT%"}
	first := results[0]
	if first.Level != "error" || first.Locations[0].Physical.Artifact != want || len(first.Fixes) != 1 || first.Fixes[0].Changes[0].Artifact != want ||
		first.Fixes[0].Changes[0].Replacements[0] != (sarifReplacement{sarifSpan{1, 2, 1, 3}, sarifText{"excluded.n"}}) {
		t.Errorf("got %+v", first)
	}
	for _, rule := range doc.Runs[0].Tool.Driver.Rules {
		if len(rule.ShortDescription.Text) > 1024 || len(rule.FullDescription.Text) > 1024 {
			t.Errorf("rule %s says too much for GitHub", rule.ID)
		}
	}
}

// On a terminal no line is wider than 80 columns, and each file has one heading.
func TestLintPage(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := newLintPage(&out).listing()
	long := strings.Repeat("SET column = column + 1, ", 20)
	for i, file := range []string{"a.sql", "a.sql", "b.sql"} {
		one := lint.Finding{File: file, Line: 100000 * i, Text: long, Verdict: lint.Verdict(i + 1), Rule: "relative-value", Why: long, Guard: long}
		lintNoError(t, l.Write(&lintRow{Finding: &one}))
	}
	lintNoError(t, l.End())
	for line := range strings.Lines(out.String()) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > pageWidth || strings.HasSuffix(line, " \n") {
			t.Errorf("%d columns, or a blank at the end: %q", width, line)
		}
	}
	if strings.Count(out.String(), "\na.sql\n")+strings.Count(out.String(), "\nb.sql\n") != 1 || !strings.HasPrefix(out.String(), "a.sql\n") {
		t.Errorf("the headings are wrong:\n%s", out.String())
	}
	var none bytes.Buffer
	lintNoError(t, newLintPage(&none).listing().End())
	if !strings.Contains(none.String(), "safe") {
		t.Errorf("got %q", none.String())
	}
}

// A file name cannot begin an annotation of its own, or control a terminal.
func TestGithubText(t *testing.T) {
	t.Parallel()
	if got, want := githubText("a\x1b[2J\n::error file=b,c%0A"), `a\u001b[2J%0A%3A%3Aerror file=b%2Cc%250A`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
