// Package golangci is the module plugin of golangci-lint that reports SQL statements which are not safe to run twice.
//
// It registers itself under the name semel; docs/lint.md has the configuration. Its settings are dialect, schema (files and
// folders, relative to the working directory), config (the path of semel-lint.yaml) and guards (functions that make what they are
// given happen once, as import/path.Func).
package golangci

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/vet"
)

func init() { //nolint:gochecknoinits // golangci-lint knows no other way
	register.Plugin("semel", New)
}

type settings struct {
	Dialect string   `json:"dialect"`
	Schema  []string `json:"schema"`
	Config  string   `json:"config"`
	Guards  []string `json:"guards"`
}

type plugin struct{ settings settings }

// New returns the plugin with its settings. A setting that it does not know is an error.
func New(from any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](from)
	if err != nil {
		return nil, fmt.Errorf("semel: read the settings: %w", err)
	}
	return &plugin{s}, nil
}

// BuildAnalyzers implements [register.LinterPlugin].
func (p *plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	s := p.settings
	return vet.Analyzers(&lint.Options{Dialect: s.Dialect, Schema: s.Schema, Config: s.Config, Guards: s.Guards}), nil
}

// GetLoadMode implements [register.LinterPlugin].
func (*plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
