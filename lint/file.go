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

	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// maxFileBytes bounds a file.
const maxFileBytes = 8 << 20

// file is one file that was read.
type file struct {
	path, text string
	why        string // it is not judged
	doubt      string // a definition that it may hold besides
}

// load reads files, and those of folders whose names end in .sql, in the order of their names. Of
// migrations that can be undone, only the way forward is read.
func load(paths []string) (files []file, err error) {
	names, err := list(paths)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		f, err := read(name, strings.NewReader(""))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// list lists files, and those of folders.
func list(paths []string) (names []string, err error) {
	for _, path := range paths {
		if path == Stdin {
			names = append(names, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("lint: %w", err)
		}
		if !info.IsDir() {
			names = append(names, path)
			continue
		}
		below, err := within(path)
		if err != nil {
			return nil, err
		}
		names = append(names, below...)
	}
	return names, nil
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

// read reads a file, or what is in the place of [Stdin].
func read(path string, stdin io.Reader) (file, error) {
	out := file{path: filepath.ToSlash(path)}
	f := io.NopCloser(stdin)
	if path == Stdin {
		out.path = "<stdin>"
	} else {
		opened, err := os.Open(path) //nolint:gosec // the user names it.
		if err != nil {
			return file{}, fmt.Errorf("lint: %w", err)
		}
		f = opened
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return file{}, fmt.Errorf("lint: read %s: %w", out.path, err)
	}
	switch {
	case len(text) > maxFileBytes:
		out.why = fmt.Sprintf("the file is larger than %d MiB", maxFileBytes>>20)
	case !utf8.Valid(text) || strings.ContainsRune(string(text), 0):
		out.why = "the file is not text in UTF-8"
	case strings.HasSuffix(path, ".go"):
		if out.text, out.doubt, err = definitions(path, string(text)); err != nil {
			out.why = err.Error()
		}
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

// lineCounter counts lines and columns as it goes forward through a text.
type lineCounter struct{ at, line, column int }

// advance goes on to an offset.
func (p *lineCounter) advance(text string, to int) {
	if to < p.at || p.line == 0 {
		*p = lineCounter{line: 1, column: 1}
	}
	part := text[p.at:to]
	if i := strings.LastIndexByte(part, '\n'); i >= 0 {
		p.line += strings.Count(part, "\n")
		p.column, part = 1, part[i+1:]
	}
	p.column += utf8.RuneCountInString(part)
	p.at = to
}

// finding is the judgement on a statement of the file, which lies between before, the end of the one before it, and
// after, the start of the next one. It moves at to its place.
func (v *view) finding(p tree.Parsed, before, after int, at *lineCounter, j judge.Judgement) Finding {
	start, end := min(p.Start, len(v.text)), min(p.End, len(v.text))
	at.advance(v.source, v.origin(start))
	written := v.source[v.origin(start):max(v.origin(start), v.origin(end))]
	first, _, _ := strings.Cut(strings.TrimSpace(written), "\n")
	out := Finding{
		File: v.path, Line: at.line, Column: at.column, Text: strings.TrimSpace(first), SQL: v.text[start:end],
		Verdict: Verdict(j.Verdict), Rule: string(j.Rule), Why: j.Why, Guard: j.Guard, Assumes: j.Assumes,
		Fingerprint: fingerprint(string(j.Rule), written),
		Repeat:      Repeat(j.Repeat), Refusal: j.Refusal,
	}
	if isRefused(out.Why) && spliced.MatchString(out.SQL) {
		out.Why = "${…} puts a text into the statement, which is not known: #{…} passes a value"
	} else if out.Guard == "" && isRefused(out.Why) {
		out.Guard = replaceAdvice(out.SQL)
	}
	lead := v.text[min(before, start):start]
	if before > 0 { // a comment behind the statement before it belongs to that
		_, lead, _ = strings.Cut(lead, "\n")
	}
	out.Reads, out.Writes = tree.Tables(p.Statement)
	_, out.rowless = p.Statement.(*tree.Neutral)
	if m := nameMark.FindAllStringSubmatch(lead, -1); m != nil {
		out.Name = m[len(m)-1][1]
	}
	behind, _, _ := strings.Cut(v.text[end:max(end, min(after, len(v.text)))], "\n")
	for _, comment := range []string{lead, behind} {
		if reason, ok := answer(comment); ok {
			out.rowless = false
			out.Accept(reason)
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
