package archtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Dependency is a module or npm package that this repository asks for by name.
type Dependency struct {
	Name    string
	Version string
	// From is the file that asks for it.
	From string
}

// goMod is the part of go mod edit -json that matters here.
type goMod struct {
	Require []struct {
		Path     string
		Version  string
		Indirect bool
	}
	Tool []struct{ Path string }
}

// Dependencies lists the direct dependencies of every go.mod and package.json in the tree, which lies in dir. A module whose
// go.mod has tool directives depends on those tools only.
func Dependencies(ctx context.Context, dir string, tree Tree) ([]Dependency, error) {
	var found []Dependency
	for _, name := range tree.names(func(name string) bool { return !inTestdata(name) }) {
		var err error
		var more []Dependency
		switch path.Base(name) {
		case "go.mod":
			more, err = goDependencies(ctx, dir, name)
		case "package.json":
			more, err = npmDependencies(name, tree.files[name])
		}
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

func goDependencies(ctx context.Context, dir, name string) ([]Dependency, error) {
	out, err := output(ctx, filepath.Join(dir, filepath.FromSlash(path.Dir(name))), "go", "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var mod goMod
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, fmt.Errorf("read go mod edit's answer about %s: %w", name, err)
	}
	imported := make(map[string]bool)
	for _, tool := range mod.Tool {
		imported[moduleOf(mod, tool.Path)] = true
	}
	var found []Dependency
	for _, require := range mod.Require {
		own := require.Path == Module || strings.HasPrefix(require.Path, Module+"/")
		if !own && (!require.Indirect || imported[require.Path]) {
			found = append(found, Dependency{Name: require.Path, Version: require.Version, From: name})
		}
	}
	return found, nil
}

// moduleOf finds the required module that holds a package: the longest one that is its prefix.
func moduleOf(mod goMod, importPath string) string {
	var best string
	for _, require := range mod.Require {
		if within(importPath, require.Path) && len(require.Path) > len(best) {
			best = require.Path
		}
	}
	return best
}

func npmDependencies(name string, text []byte) ([]Dependency, error) {
	var manifest struct {
		Dependencies    map[string]string `json:"dependencies"`
		DevDependencies map[string]string `json:"devDependencies"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var found []Dependency
	for _, group := range []map[string]string{manifest.Dependencies, manifest.DevDependencies} {
		for dependency, version := range group {
			found = append(found, Dependency{Name: dependency, Version: version, From: name})
		}
	}
	slices.SortFunc(found, func(a, b Dependency) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

// dependencyPage lists the dependencies, one row of a table for each.
const dependencyPage = "docs/decisions/0001-dependencies.md"

// CheckDependencies returns every dependency for which no line of docs/decisions names both it and its version, and
// every row of the page of dependencies that is about none.
func CheckDependencies(tree Tree, dependencies []Dependency) []Violation {
	var lines []string
	for _, name := range tree.names(func(name string) bool { return path.Dir(name) == "docs/decisions" }) {
		lines = slices.AppendSeq(lines, strings.Lines(string(tree.files[name])))
	}
	var found []Violation
	for _, dependency := range dependencies {
		accounted := slices.ContainsFunc(lines, func(line string) bool {
			return strings.Contains(line, "`"+dependency.Name+"`") && strings.Contains(line, "`"+dependency.Version+"`")
		})
		if !accounted {
			found = append(found, Violation{
				Where: dependency.From,
				Rule: fmt.Sprintf("`%s` at `%s` has no line in docs/decisions: say there why, under which licence, and how to leave it",
					dependency.Name, dependency.Version),
			})
		}
	}
	return append(found, staleRows(tree, dependencies)...)
}

// staleRows returns the rows about modules and packages that nothing asks for any more.
func staleRows(tree Tree, dependencies []Dependency) []Violation {
	row := regexp.MustCompile("^\\| `([^`]+)` \\|")
	var found []Violation
	number := 0
	for line := range strings.Lines(string(tree.files[dependencyPage])) {
		number++
		match := row.FindStringSubmatch(line)
		if match != nil && !slices.ContainsFunc(dependencies, func(d Dependency) bool { return d.Name == match[1] }) {
			found = append(found, Violation{
				Where: fmt.Sprintf("%s:%d", dependencyPage, number),
				Rule:  fmt.Sprintf("`%s` no longer is a direct dependency: remove its row", match[1]),
			})
		}
	}
	return found
}
