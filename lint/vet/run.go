package vet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/gocheck"
	"github.com/semel-dev/semel/lint/internal/gosql"
)

// notCompiled is the rule of a finding for a package that does not compile, of which no statement is judged.
const notCompiled = "does-not-compile"

// Run judges the statements of paths: those of .sql files and of the .sql files of folders, as [lint.Run] does, and those
// that Go files hand to a database. A path is a file, a folder with all that is below it, or a pattern of packages
// such as ./... . Tests are left out. A package that does not compile is a finding.
func Run(ctx context.Context, paths []string, o *lint.Options) ([]lint.Finding, error) {
	plain, loads, err := divide(paths)
	if err != nil {
		return nil, err
	}
	if len(plain) == 0 && len(loads) == 0 {
		return nil, errors.New("lint: no file whose name ends in .sql or .go was found")
	}
	var all []lint.Finding
	if len(plain) > 0 {
		if all, err = lint.Run(ctx, plain, o); err != nil {
			return nil, err //nolint:wrapcheck // it says lint already
		}
	}
	for _, l := range loads {
		found, err := l.analyze(ctx, newChecks(o))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// load is one call of go list: patterns in the folder of a module.
type load struct {
	folder   string
	patterns []string
	// only is a file, when only that one was named.
	only string
}

// divide says which paths lint.Run takes, and which packages are loaded.
func divide(paths []string) (plain []string, loads []load, err error) {
	patterns := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !strings.HasSuffix(path, "...") })
	if len(patterns) > 0 { // at once: what they import is loaded once
		loads = append(loads, load{folder: ".", patterns: patterns})
	}
	for _, path := range paths {
		if path == lint.Stdin {
			plain = append(plain, path)
			continue
		}
		folder, isPattern := strings.CutSuffix(path, "...")
		if isPattern {
			path = cmp.Or(strings.TrimSuffix(folder, "/"), ".")
		}
		info, err := os.Stat(path)
		switch {
		case err != nil && isPattern: // of import paths
		case err != nil:
			return nil, nil, fmt.Errorf("lint: %w", err)
		case info.IsDir():
			sql, modules, err := contents(path)
			if err != nil {
				return nil, nil, err
			}
			if sql {
				plain = append(plain, path)
			}
			if !isPattern {
				loads = append(loads, loadsOf(modules)...)
			}
		case filepath.Ext(path) == ".go":
			loads = append(loads, load{folder: filepath.Dir(path), patterns: []string{"."}, only: path})
		default:
			plain = append(plain, path)
		}
	}
	return plain, loads, nil
}

// loadsOf returns a call for each module.
func loadsOf(folders []string) (loads []load) {
	for _, folder := range folders {
		loads = append(loads, load{folder: folder, patterns: []string{"./..."}})
	}
	return loads
}

// contents reports whether a folder has .sql files, and which modules or parts of one it has Go files of.
func contents(root string) (sql bool, modules []string, err error) {
	within := map[string]string{} // the module of a folder, as far as it is below the root
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor") {
				return filepath.SkipDir
			}
			within[path] = within[filepath.Dir(path)]
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil || path == root {
				within[path] = path
			}
			return nil
		}
		sql = sql || strings.HasSuffix(name, ".sql")
		isGo := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(filepath.ToSlash(path), "/testdata/")
		if folder := within[filepath.Dir(path)]; isGo && !slices.Contains(modules, folder) {
			modules = append(modules, folder)
		}
		return nil
	})
	if err != nil {
		return false, nil, fmt.Errorf("lint: %w", err)
	}
	return sql, modules, nil
}

const (
	listed   = packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedFiles
	analysed = packages.LoadSyntax | packages.NeedModule
)

// analyze analyses the packages of a load, and those of the same module that they import, for what those know of SQL.
func (l *load) analyze(ctx context.Context, c *checks) ([]lint.Finding, error) {
	named, err := l.load(ctx, listed, l.patterns)
	if err != nil {
		return nil, err
	}
	wanted, patterns := map[string]bool{}, slices.Clone(l.patterns)
	for _, p := range named {
		wanted[p.ID] = true
	}
	packages.Visit(named, nil, func(p *packages.Package) {
		if p.Module != nil && p.Module.Version == "" && !wanted[p.ID] {
			patterns = append(patterns, p.PkgPath)
		}
	})
	pkgs, err := l.load(ctx, analysed, patterns)
	if err != nil {
		return nil, err
	}
	all, err := analyse(c, pkgs, wanted)
	return l.chosen(all), err
}

// analyse returns the findings of the packages that are wanted.
func analyse(c *checks, pkgs []*packages.Package, wanted map[string]bool) (all []lint.Finding, err error) {
	var sound []*packages.Package
	for _, p := range pkgs {
		switch {
		case len(p.Errors) == 0 && !p.IllTyped:
			sound = append(sound, p)
		case wanted[p.ID]:
			all = append(all, broken(p))
		}
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{c.sql, c.program}, sound, nil)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	for _, action := range graph.Roots {
		if !wanted[action.Package.ID] {
			continue
		}
		if action.Err != nil {
			return nil, fmt.Errorf("lint: %s: %w", action.Package.PkgPath, action.Err)
		}
		switch result := action.Result.(type) {
		case *gosql.Result:
			if result.Err != nil {
				return nil, fmt.Errorf("lint: %s: %w", action.Package.PkgPath, result.Err)
			}
			all = append(all, result.Findings()...)
		case *gocheck.Result:
			all = append(all, result.Findings...)
		}
	}
	return all, nil
}

func (l *load) load(ctx context.Context, mode packages.LoadMode, patterns []string) ([]*packages.Package, error) {
	pkgs, err := packages.Load(&packages.Config{Context: ctx, Mode: mode, Dir: l.folder}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("lint: list the packages of %s: %w", l.folder, err)
	}
	for _, p := range pkgs {
		for _, e := range p.Errors {
			if e.Kind == packages.ListError && len(p.GoFiles) == 0 {
				return nil, fmt.Errorf("lint: list the packages of %s: %s", l.folder, e.Msg)
			}
		}
	}
	return pkgs, nil
}

// broken is the finding for a package that does not compile.
func broken(p *packages.Package) lint.Finding {
	f := lint.Finding{File: p.PkgPath, Line: 1, Column: 1, Text: "package " + p.Name, Verdict: lint.CannotTell, Rule: notCompiled}
	if len(p.GoFiles) > 0 {
		f.File = p.GoFiles[0]
	}
	f.Why = "a package that it imports does not compile"
	for _, e := range p.Errors {
		parts := strings.Split(e.Pos, ":")
		if n := len(parts); n >= 3 {
			line, err1 := strconv.Atoi(parts[n-2])
			column, err2 := strconv.Atoi(parts[n-1])
			if err := errors.Join(err1, err2); err == nil && line > 0 {
				f.File, f.Line, f.Column = strings.Join(parts[:n-2], ":"), line, max(column, 1)
				f.Why = "the package does not compile: " + e.Msg
				break
			}
		}
		f.Why = "the package does not compile: " + strings.Join(strings.Fields(e.Msg), " ")
	}
	return f
}

// chosen leaves out tests and files that were not named, and names the others as seen from the working directory.
func (l *load) chosen(all []lint.Finding) []lint.Finding {
	here, err := os.Getwd()
	if err != nil {
		here = ""
	}
	only := ""
	if l.only != "" {
		if only, err = filepath.Abs(l.only); err != nil {
			only = l.only
		}
	}
	all = slices.DeleteFunc(all, func(f lint.Finding) bool {
		return isTest(f.File) || only != "" && filepath.FromSlash(f.File) != only
	})
	for i := range all {
		if short, err := filepath.Rel(here, filepath.FromSlash(all[i].File)); err == nil && filepath.IsLocal(short) {
			all[i].File = filepath.ToSlash(short)
		}
	}
	slices.SortStableFunc(all, func(a, b lint.Finding) int {
		return cmp.Or(strings.Compare(filepath.Dir(a.File), filepath.Dir(b.File)), strings.Compare(a.File, b.File), a.Line-b.Line)
	})
	// Two commands that serve the same routes find the same in them.
	return slices.CompactFunc(all, func(a, b lint.Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Rule == gocheck.UnguardedHandler && a.Rule == b.Rule && a.Why == b.Why
	})
}
