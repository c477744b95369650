package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/internal/config"
)

// options adds the flags of semelvet to those of the analyzers.
func options(flags *flag.FlagSet) *lint.Options {
	o := &lint.Options{}
	if name, err := config.Find("."); err == nil { // a folder above that cannot be read has none
		o.Config = name
	}
	flags.Func("dialect", "postgresql, mysql (or mariadb) or sqlite (default: what the package says, or the worst of all that can read it)", func(name string) error {
		if name == "" {
			return nil
		}
		_, err := dialect.Parse(name)
		o.Dialect = name
		return err //nolint:wrapcheck // flag names the flag
	})
	flags.Func("schema", "files and folders that define the tables, separated by commas; relative to the root of the module or to a folder above it", func(list string) error {
		for path := range strings.SplitSeq(list, ",") {
			if path == "" {
				continue
			}
			found, err := resolve(path)
			if err != nil {
				return err
			}
			o.Schema = append(o.Schema, found)
		}
		return nil
	})
	flags.Func("guards", "functions that make what they are given happen once, as import/path.Func, separated by commas", func(list string) error {
		o.Guards = append(o.Guards, strings.FieldsFunc(list, func(r rune) bool { return r == ',' })...)
		return nil
	})
	flags.Func("config", "configuration (default: "+config.Name+" in the folder of the package or above it)", func(name string) error {
		if name == "" {
			return nil
		}
		found, err := resolve(name)
		o.Config = found
		return err
	})
	return o
}

// resolve finds a path that was meant relative to the folder in which go vet was started: go vet runs its tool in the folder of
// each package. The root of the module comes first, then the folders above it, then those between it and the package. A dependency
// outside of the module finds nothing, and needs nothing.
func resolve(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	var below, above []string
	root := false
	for {
		if root {
			above = append(above, folder)
		} else {
			below = append([]string{folder}, below...)
		}
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			root = true
		}
		if filepath.Dir(folder) == folder {
			break
		}
		folder = filepath.Dir(folder)
	}
	if !root {
		return path, nil
	}
	for _, folder := range append(below[:1:1], append(above, below[1:]...)...) {
		if _, err := os.Stat(filepath.Join(folder, path)); err == nil {
			return filepath.Join(folder, path), nil
		}
	}
	return path, nil // the error comes when a statement needs it
}
