package mathematicians_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/examples/mathematicians"
	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/internal/testserver"
)

// The walk-through of the README, in one shell: the lines after a command are its output.
func TestREADME(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(program); err != nil {
			testserver.Missing(t, program, "apt-get install "+program)
		}
	}
	server := must.Get(mathematicians.Open(filepath.Join(t.TempDir(), "m.db"), &mathematicians.Options{ClientIDs: true}))
	defer server.Close()
	door := httptest.NewServer(server)
	defer door.Close()

	var script, want strings.Builder
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(must.Get(os.ReadFile("README.md"))), -1) {
		for line := range strings.Lines(block[1]) {
			if command, is := strings.CutPrefix(line, "$ "); is {
				commands++
				script.WriteString("echo '$'\n" + command)
				line = "$\n"
			}
			want.WriteString(line)
		}
	}
	if commands < 9 {
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
	if diff := cmp.Diff(strings.Split(want.String(), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("output (-README +got):\n%s", diff)
	}
}
