package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Package describes one package of this module, as go list does.
type Package struct {
	ImportPath string
	// Imports are those of the files that are not tests.
	Imports []string
	// TestImports are those of tests inside the package.
	TestImports []string
	// XTestImports are those of tests outside it.
	XTestImports []string
	// Deps is everything Imports reaches.
	Deps []string
}

// ListPackages asks go list for the packages of the module in dir, and of the houses next to it. A package that does not compile is listed with
// the imports it names, so that a half-written file elsewhere does not hide a broken rule.
func ListPackages(ctx context.Context, dir string) ([]Package, error) {
	const fields = "-json=ImportPath,Imports,TestImports,XTestImports,Deps"
	args := []string{"list", "-e", fields, "./..."}
	for folder := range strings.FieldsSeq("check cmd console demo examples gateway internal/cli lint proof schema") {
		if _, err := os.Stat(filepath.Join(dir, folder, "go.mod")); err == nil {
			args = append(args, "./"+folder+"/...")
		}
	}
	out, err := output(ctx, dir, "go", args...)
	if err != nil {
		return nil, err
	}
	var packages []Package
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read go list's answer: %w", err)
		}
		packages = append(packages, p)
	}
}

// standard reports whether an import path belongs to the standard library: only there the first element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// output runs a command in dir and returns what it printed; its complaints become part of the error.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the callers in this package pass constants
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s in %s: %w: %s", name, strings.Join(args, " "), dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
