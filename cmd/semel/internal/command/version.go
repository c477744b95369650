package command

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/cli/openstore"
)

// buildVersion is the output of version --json.
type buildVersion struct {
	Version  string         `json:"version"`
	Revision string         `json:"revision,omitempty"`
	Time     string         `json:"time,omitempty"`
	Modified bool           `json:"modified"`
	Go       string         `json:"go"`
	Platform string         `json:"platform"`
	Schemas  map[string]int `json:"schemas"`
}

func newVersion(p *cli.Process) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of semel",
		Long: `Prints the version, the revision it was built from, the Go version, and the
newest schema of each store that this program reads and writes. A store with a
newer schema is refused; an older one is migrated when it is opened for writing.`,
		Example: `  semel version
  semel version --json`,
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v, err := readVersion()
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(p.Stdout).Encode(v)
			}
			return v.print(p.Stdout)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func readVersion() (buildVersion, error) {
	v := buildVersion{Version: "(unknown)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	var err error
	if v.Schemas, err = openstore.Schemas(); err != nil {
		return v, err
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v, nil
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Revision = setting.Value
		case "vcs.time":
			v.Time = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v, nil
}

func (v buildVersion) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "semel %s\n", v.Version)
	if v.Revision != "" {
		changed := ""
		if v.Modified {
			changed = ", with changes"
		}
		fmt.Fprintf(&b, "revision %s of %s%s\n", v.Revision, v.Time, changed)
	}
	fmt.Fprintf(&b, "built with %s for %s\n", v.Go, v.Platform)
	for _, kind := range slices.Sorted(maps.Keys(v.Schemas)) {
		fmt.Fprintf(&b, "store %s: schema %d\n", kind, v.Schemas[kind])
	}
	_, err := io.WriteString(w, b.String())
	return err
}
