package golangci_test

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"

	_ "github.com/semel-dev/semel/adapters/golangci"
)

// golangci-lint finds the plugin by its name, with the types that the analyzer needs; an unknown setting is refused.
func TestPlugin(t *testing.T) {
	t.Parallel()
	build, err := register.GetPlugin("semel")
	if err != nil {
		t.Fatal(err)
	}
	p, err := build(map[string]any{"dialect": "sqlite", "schema": []string{"schema.sql"}, "guards": []string{"example.com/shop.Once"}})
	if err != nil {
		t.Fatal(err)
	}
	analyzers, err := p.BuildAnalyzers()
	if err != nil || len(analyzers) == 0 || analyzers[0].Name != "semel" {
		t.Errorf("got %v, %v", analyzers, err)
	}
	if got := p.GetLoadMode(); got != register.LoadModeTypesInfo {
		t.Errorf("got load mode %s", got)
	}
	if _, err := build(map[string]any{"dialekt": "sqlite"}); err == nil {
		t.Error("an unknown setting was accepted")
	}
}
