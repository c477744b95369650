package verb

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Script is a numbered migration, as its file has it.
type Script struct {
	Version int
	Name    string // of its file, such as 0001_record
	SQL     string
}

// Scripts reads migrations/*.sql. They are numbered without gaps, from first on.
func Scripts(fsys fs.FS, first int) ([]Script, error) {
	names, err := fs.Glob(fsys, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	scripts := make([]Script, 0, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		s := Script{Version: first + i, Name: strings.TrimSuffix(path.Base(name), ".sql"), SQL: string(text)}
		if !strings.HasPrefix(s.Name, fmt.Sprintf("%04d_", s.Version)) {
			return nil, fmt.Errorf("migration %s is in the place of number %d", s.Name, s.Version)
		}
		scripts = append(scripts, s)
	}
	return scripts, nil
}

// Migrate runs those of migrations/*.sql, numbered from 1, that lead beyond schema.
func Migrate(fsys fs.FS, schema int, run func(sql string) error) error {
	scripts, err := Scripts(fsys, 1)
	if err != nil {
		return err
	}
	for _, s := range scripts[min(schema, len(scripts)):] {
		if err := run(s.SQL); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", s.Version, err)
		}
	}
	return nil
}
