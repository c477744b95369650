package main

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/semel-dev/semel/examples/mathematicians"
	"github.com/semel-dev/semel/examples/mathematicians/client"
	"github.com/semel-dev/semel/internal/testserver"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"client": main}) }

// The walk-through of the README, in one shell: the lines after a command are its output.
func TestREADME(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			testserver.Missing(t, program, "apt-get install "+program)
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := mathematicians.Open(filepath.Join(t.TempDir(), "m.db"), &mathematicians.Options{ClientIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	door := httptest.NewServer(server)
	defer door.Close()

	var script, want strings.Builder
	script.WriteString("client() { command client --server " + door.URL + ` "$@"; }` + "\n")
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		for line := range strings.Lines(block[1]) {
			if command, is := strings.CutPrefix(line, "$ "); is {
				commands++
				script.WriteString("echo '$'\n" + command)
				line = "$\n"
			}
			want.WriteString(line)
		}
	}
	if commands < 10 {
		t.Fatalf("the README has %d commands", commands)
	}
	shell := exec.CommandContext(t.Context(), "bash", "-c", strings.ReplaceAll(script.String(), "http://127.0.0.1:9200", door.URL))
	shell.Dir = t.TempDir()
	shell.Stderr = os.Stderr
	out, err := shell.Output()
	if err != nil {
		t.Error(err)
	}
	got := regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).ReplaceAllString(string(out), "<id>")
	got = regexp.MustCompile(`(?m) +$`).ReplaceAllString(got, "")
	if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("what is printed (-README +got):\n%s", diff)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	queue := filepath.Join(t.TempDir(), "q.db")
	for name, test := range map[string]struct {
		late bool
		args []string
		code int
		says string
	}{
		"help":        {args: []string{"-h"}, says: "Exit codes"},
		"list":        {args: []string{"--queue", queue, "list"}, says: "REF"},
		"no verb":     {args: []string{"--queue", queue}, code: exitUsage},
		"other verb":  {args: []string{"--queue", queue, "send"}, code: exitUsage},
		"flag":        {args: []string{"--colour"}, code: exitUsage},
		"no name":     {args: []string{"--queue", queue, "add"}, code: exitUsage},
		"sync what":   {args: []string{"--queue", queue, "sync", "x"}, code: exitUsage},
		"stock what":  {args: []string{"--queue", queue, "stock", "many"}, code: exitUsage},
		"no author":   {args: []string{"--queue", queue, "add", "--author", "nobody", "Title"}, code: exitRefused},
		"unreachable": {args: []string{"--queue", queue, "--server", "http://127.0.0.1:1", "stock", "1"}, code: exitRefused},
		"interrupted": {late: true, args: []string{"--queue", queue, "list"}, code: exitUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if test.late {
				end()
			}
			var stdout strings.Builder
			err := run(ctx, test.args, &stdout, io.Discard)
			code := 0
			if err != nil {
				code = exitCode(err)
			}
			if code != test.code || !strings.Contains(stdout.String(), test.says) {
				t.Errorf("got %d (%v) and\n%s\nwant %d and %q", code, err, stdout.String(), test.code, test.says)
			}
		})
	}
}

// What the server refuses makes sync end with 1.
func TestRefusedExitCode(t *testing.T) {
	t.Parallel()
	server, err := mathematicians.Open(filepath.Join(t.TempDir(), "m.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	door := httptest.NewServer(server)
	defer door.Close()
	flags := []string{"--queue", filepath.Join(t.TempDir(), "q.db"), "--server", door.URL}
	if err := run(t.Context(), append(flags, "add", " Ada"), io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	var stdout strings.Builder
	err = run(t.Context(), append(flags, "sync"), &stdout, io.Discard)
	if !errors.Is(err, errRefused) || exitCode(err) != exitRefused || stdout.String() != "0 done, 0 waiting, 1 refused\n" {
		t.Errorf("got %v and %q", err, stdout.String())
	}
	if errors.Is(err, client.ErrSending) {
		t.Error("it was not even sent")
	}
}
