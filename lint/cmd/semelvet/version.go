package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/semel-dev/semel/lint/internal/config"
)

// maxSchemaFiles bounds how many files are looked at for the version.
const maxSchemaFiles = 20_000

// printVersion prints the line by which go vet knows a tool, and keeps what it said of a package. The configuration and the .sql
// files below the folder are part of it: a change of the schema changes the verdicts.
func printVersion(w io.Writer) error {
	name, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	h := sha256.New()
	if err := add(h, name); err != nil {
		return err
	}
	if err := addSchema(h); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s version devel semelvet buildID=%02x\n", name, h.Sum(nil))
	return err //nolint:wrapcheck // the standard output
}

func add(h hash.Hash, name string) error {
	f, err := os.Open(name) //nolint:gosec // this program, or a file of the user
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	_, err = io.Copy(h, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

func addSchema(h hash.Hash) error {
	folders, err := addConfig(h)
	if err != nil {
		return err
	}
	left := maxSchemaFiles
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // lint says it when it needs the file
			case d.IsDir() && path != folder && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(path, ".sql") && path != folder:
				return nil
			}
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if info, err := d.Info(); err == nil {
				fmt.Fprintln(h, path, info.Size(), info.ModTime().UnixNano()) //nolint:errcheck // a hash has no errors
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("look for .sql files: %w", err)
		}
	}
	return nil
}

// addConfig adds the configuration, and that of sqlc next to it. It returns the folders whose .sql files may count.
func addConfig(h hash.Hash) ([]string, error) {
	folders := []string{"."}
	name, err := config.Find(".")
	if err != nil || name == "" {
		return folders, err //nolint:wrapcheck // it says config
	}
	sqlc, err := config.SQLC(filepath.Dir(name))
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	for _, one := range []string{name, sqlc} {
		if one == "" {
			continue
		}
		if err := add(h, one); err != nil {
			return nil, err
		}
	}
	return append(folders, schemasOf(name)...), nil
}

// schemasOf returns the schemas that a configuration names.
func schemasOf(name string) (all []string) {
	file, err := config.Load(name)
	if err != nil {
		return nil // the tool says it
	}
	all = append(all, file.Schema...)
	for _, o := range file.Overrides {
		all = append(all, o.Schema...)
	}
	return all
}
