package verify

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/semel-dev/semel/internal/rules/sqltext"
)

const (
	// maxSQLBytes is the largest file of SQL that is read.
	maxSQLBytes = 4 << 20
	// maxSQLFiles bounds the files of SQL that are read.
	maxSQLFiles = 10_000
)

// SQLFile is a file with statements.
type SQLFile struct {
	// Name is for messages.
	Name string
	Text string
}

// LoadSQL reads the files that match the patterns of [filepath.Match], each once.
// It is an error when a pattern matches no file, and when a file is larger than
// [maxSQLBytes].
func LoadSQL(patterns ...string) ([]SQLFile, error) {
	var files []SQLFile
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("verify: pattern %q: %w", pattern, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("verify: no file matches %q (quote it, so that the shell leaves it alone)", pattern)
		}
		for _, name := range names {
			if slices.ContainsFunc(files, func(f SQLFile) bool { return f.Name == name }) {
				continue
			}
			if len(files) == maxSQLFiles {
				return nil, fmt.Errorf("verify: more than %d files of SQL match", maxSQLFiles)
			}
			file, err := readSQL(name)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
	}
	return files, nil
}

func readSQL(name string) (SQLFile, error) {
	f, err := os.Open(name) //nolint:gosec // the operator names the file.
	if err != nil {
		return SQLFile{}, fmt.Errorf("verify: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read.
	data, err := io.ReadAll(io.LimitReader(f, maxSQLBytes+1))
	if err != nil {
		return SQLFile{}, fmt.Errorf("verify: read %s: %w", name, err)
	}
	if len(data) > maxSQLBytes {
		return SQLFile{}, fmt.Errorf("verify: %s is larger than %d bytes", name, maxSQLBytes)
	}
	return SQLFile{Name: name, Text: string(data)}, nil
}

// sqlFile reports the statements of a file that a rule's table does not bear.
func (v *verifier) sqlFile(source SQLFile) { v.sqlText(source.Name, source.Text, 0) }

// sqlText reads a text that starts so many lines below the start of its file.
func (v *verifier) sqlText(name, text string, above int) {
	tokens, err := sqltext.Scan(v.schema.Dialect, text)
	if wrong, ok := errors.AsType[*sqltext.Error](err); ok {
		v.unread(name, above+wrong.Line, wrong.What+", and what follows")
	}
	for i, t := range tokens {
		if t.Kind == sqltext.String && strings.HasPrefix(text[t.Start:], "$") { // the body of a function
			v.sqlText(name, t.Text, above+t.Line-1)
		}
		if why := unreadable(tokens[i:]); why != "" {
			v.unread(name, above+t.Line, why)
		}
	}
	for _, statement := range sqltext.Split(tokens, ";") {
		for i, t := range statement {
			if !t.Is("INSERT") && !t.Is("REPLACE") {
				continue
			}
			if w, ok := readWrite(statement[i:]); ok {
				w.file, w.line = name, above+t.Line
				v.write(&w)
			}
		}
	}
}

// unreadable returns why the statement that starts here may write unseen, or "".
func unreadable(tokens []sqltext.Token) string {
	if len(tokens) < 2 {
		return ""
	}
	switch next := tokens[1]; {
	case tokens[0].Is("EXECUTE") && (next.Kind == sqltext.String || next.Is("format")):
		return "SQL that is put together when it runs"
	case tokens[0].Is("{") && (next.Is("{") || next.Is("%")):
		return "a template, which is SQL only when it is filled"
	}
	return ""
}

// unread notes what could not be read, once for each line.
func (v *verifier) unread(file string, line int, why string) {
	u := Unread{File: file, Line: line, Why: why}
	if !slices.Contains(v.report.Unread, u) {
		v.report.Unread = append(v.report.Unread, u)
	}
}
