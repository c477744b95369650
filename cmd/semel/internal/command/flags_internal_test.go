package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/must"
)

// TestFlags compares every verb and flag with testdata/flags.golden, because scripts of users have them (docs/upgrade.md).
// SEMEL_UPDATE_GOLDEN=1 writes it.
func TestFlags(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		fmt.Fprintln(&got, cmd.CommandPath())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name
			if f.Shorthand != "" {
				name += ", -" + f.Shorthand
			}
			fmt.Fprintf(&got, "  %s %s\n", name, f.Value.Type())
		})
		for _, verb := range cmd.Commands() {
			walk(verb)
		}
	}
	walk(newRoot(&cli.Process{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}, nil))
	golden := filepath.Join("testdata", "flags.golden")
	if os.Getenv("SEMEL_UPDATE_GOLDEN") != "" {
		must.Succeed(os.WriteFile(golden, []byte(got.String()), 0o600), "write %s", golden)
	}
	if diff := cmp.Diff(string(must.Get(os.ReadFile(golden))), got.String()); diff != "" {
		t.Errorf("verbs and flags (-want +got); one that is gone, or takes another kind of value, breaks scripts of users: say so in CHANGELOG.md\n%s", diff)
	}
}
