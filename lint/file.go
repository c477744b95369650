package lint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/semel-dev/semel/internal/lint/judge"
	"github.com/semel-dev/semel/internal/lint/tree"
)

// maxFileBytes bounds a file.
const maxFileBytes = 8 << 20

// file is one file that was read.
type file struct {
	path, text string
	why        string // it is not judged
}

// load reads files, and those of folders whose names end in .sql, in the order of their names. Of
// migrations that can be undone, only the way forward is read.
func load(paths []string) (files []file, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
		names := []string{path}
		if info.IsDir() {
			if names, err = within(path); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			f, err := read(name)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// within lists the files of a folder.
func within(folder string) (names []string, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != folder:
			return filepath.SkipDir
		case d.Type().IsRegular() && strings.HasSuffix(d.Name(), ".sql") && !strings.HasSuffix(d.Name(), ".down.sql"):
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(strings.Compare(filepath.Dir(a), filepath.Dir(b)), cmp.Compare(number(a), number(b)), strings.Compare(a, b))
	})
	return names, nil
}

var leading = regexp.MustCompile(`^\d+`)

// number is that of a migration, whose digits may differ in their number.
func number(path string) uint64 {
	n, err := strconv.ParseUint(leading.FindString(filepath.Base(path)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func read(path string) (file, error) {
	f, err := os.Open(path) //nolint:gosec // the user names it.
	if err != nil {
		return file{}, fmt.Errorf("lint: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return file{}, fmt.Errorf("lint: read %s: %w", path, err)
	}
	out := file{path: filepath.ToSlash(path)}
	switch {
	case len(text) > maxFileBytes:
		out.why = fmt.Sprintf("the file is larger than %d MiB", maxFileBytes>>20)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		out.why = "the file is not text in UTF-8"
	default:
		out.text = forward(string(text))
	}
	return out, nil
}

var (
	gooseMark = regexp.MustCompile(`(?mi)^[ \t]*--[ \t]*\+(?:goose|migrate)[ \t]+(Up|Down)\b`)
	nameMark  = regexp.MustCompile(`(?m)^[ \t]*--[ \t]*name:[ \t]*(\S+)`)
)

// forward blanks the parts of a migration that undo it; all that is left keeps its place.
func forward(text string) string {
	marks := gooseMark.FindAllStringSubmatchIndex(text, -1)
	out := []byte(text)
	for n, m := range marks {
		if !strings.EqualFold(text[m[2]:m[3]], "down") {
			continue
		}
		end := len(text)
		if n+1 < len(marks) {
			end = marks[n+1][0]
		}
		for i := m[0]; i < end; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// finding is the judgement on a statement of the file; before is the end of the one before it.
func (f *file) finding(p tree.Parsed, before int, j judge.Judgement) Finding {
	start, end := min(p.Start, len(f.text)), min(p.End, len(f.text))
	line := 1 + strings.Count(f.text[:start], "\n")
	first, _, _ := strings.Cut(strings.TrimSpace(f.text[start:end]), "\n")
	out := Finding{
		File: f.path, Line: line, Column: 1 + utf8.RuneCountInString(f.text[strings.LastIndex(f.text[:start], "\n")+1:start]), Text: strings.TrimSpace(first),
		Verdict: Verdict(j.Verdict), Rule: string(j.Rule), Why: j.Why, Guard: j.Guard, Assumes: j.Assumes,
	}
	lead := f.text[min(before, start):start]
	if before > 0 { // a comment behind the statement before it belongs to that
		_, lead, _ = strings.Cut(lead, "\n")
	}
	if m := nameMark.FindAllStringSubmatch(lead, -1); m != nil {
		out.Name = m[len(m)-1][1]
	}
	behind, _, _ := strings.Cut(f.text[end:], "\n")
	for _, comment := range []string{lead, behind} {
		if reason, ok := answer(comment); ok {
			out.answer(reason)
			break
		}
	}
	return out
}

var answerMark = regexp.MustCompile(`(?m)(?:--|#|/\*)[ \t]*semel:safe\b[ \t]*(.*)$`)

// answer returns the reason of a comment semel:safe.
func answer(text string) (reason string, ok bool) {
	m := answerMark.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(m[1]), "*/")), true
}

// answer takes a comment into account: it needs a reason, and something to answer.
func (f *Finding) answer(reason string) {
	switch {
	case reason == "":
		f.Verdict = max(f.Verdict, CannotTell)
		f.Rule, f.Why, f.Guard = "answer-without-reason", "the comment semel:safe gives no reason: write it behind the word", ""
	case f.Verdict < CannotTell:
		f.Rule, f.Why = NotNeeded, "remove the comment semel:safe: without it, the statement is "+f.Verdict.String()
	default:
		f.Answer = reason
	}
}
