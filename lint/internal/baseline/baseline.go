// Package baseline keeps the findings that were known when a project adopted semel lint: a text with
// a line for each, which people review, and from which they remove lines.
package baseline

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	version = 1
	header  = "# semel-lint-baseline "
	// maxBytes and maxText bound a file, and the text of an entry.
	maxBytes = 16 << 20
	maxText  = 120
)

// Entry is a known finding.
type Entry struct {
	Fingerprint string // of its rule and statement
	Rule        string
	File        string // from the folder of the baseline, with slashes
	Text        string // for people
}

// key identifies an entry.
func (e *Entry) key() [2]string { return [2]string{e.Fingerprint, e.File} }

// File is a baseline. The same entry twice covers two findings.
type File struct {
	folder  string
	entries []Entry
	left    map[[2]string]int // of each key, those that no finding has matched
}

// Load reads a baseline.
func Load(name string) (*File, error) {
	f, err := os.Open(name) //nolint:gosec // the user names it.
	if err != nil {
		return nil, fmt.Errorf("baseline: %w (write it with --write-baseline)", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("baseline: read %s: %w", name, err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("baseline: %s is larger than %d MiB", name, maxBytes>>20)
	}
	b, err := New(name)
	if err != nil {
		return nil, err
	}
	if err := b.parse(string(text)); err != nil {
		return nil, fmt.Errorf("baseline: %s:%w", name, err)
	}
	return b, nil
}

// New returns an empty baseline, to be written to the file of this name.
func New(name string) (*File, error) {
	folder, err := filepath.Abs(filepath.Dir(name))
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return &File{folder: folder, left: map[[2]string]int{}}, nil
}

var fingerprint = regexp.MustCompile(`^[0-9a-f]{16}$`)

func (b *File) parse(text string) error {
	lines := bufio.NewScanner(strings.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if number == 1 {
			said, ok := strings.CutPrefix(line, header)
			n, err := strconv.Atoi(said)
			switch {
			case !ok || err != nil || n < 1:
				return fmt.Errorf("1: it does not begin with %q: write it with --write-baseline", header+strconv.Itoa(version))
			case n > version:
				return fmt.Errorf("1: it is of version %d, and this semel reads version %d: use the semel that wrote it, or write it again", n, version)
			}
			continue
		}
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, "\t", 4)
		if len(fields) != 4 || !fingerprint.MatchString(fields[0]) || fields[2] == "" {
			return fmt.Errorf("%d: it is not a fingerprint, a rule, a file and a statement with tabs between them", number)
		}
		b.Add(Entry{Fingerprint: fields[0], Rule: fields[1], File: fields[2], Text: fields[3]})
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf(" %w", err)
	}
	if len(strings.TrimSpace(text)) == 0 {
		return errors.New("1: it is empty: write it with --write-baseline")
	}
	return nil
}

// Path returns the path of a file from the folder of the baseline.
func (b *File) Path(file string) string {
	full, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	if short, err := filepath.Rel(b.folder, full); err == nil {
		return filepath.ToSlash(short)
	}
	return filepath.ToSlash(full)
}

// Add adds an entry.
func (b *File) Add(e Entry) {
	b.entries = append(b.entries, e)
	b.left[e.key()]++
}

// Knows reports whether a finding is known, once for each of its entries.
func (b *File) Knows(e Entry) bool {
	if b.left[e.key()] == 0 {
		return false
	}
	b.left[e.key()]--
	return true
}

// Left returns the entries that no finding has matched, of files that were judged or that do not exist anymore.
func (b *File) Left(judged func(path string) bool) (all []Entry) {
	left := map[[2]string]int{}
	for i := range b.entries {
		e := b.entries[i]
		if left[e.key()] < b.left[e.key()] && (judged(e.File) || !b.exists(e.File)) {
			left[e.key()]++
			all = append(all, e)
		}
	}
	return all
}

func (b *File) exists(path string) bool {
	_, err := os.Stat(filepath.Join(b.folder, filepath.FromSlash(path)))
	return err == nil
}

// Keep adds the entries of another baseline for files that exist and were not judged.
func (b *File) Keep(old *File, judged func(path string) bool) {
	for _, e := range old.entries {
		if !judged(e.File) && b.exists(e.File) {
			b.Add(e)
		}
	}
}

// Len returns the number of entries.
func (b *File) Len() int { return len(b.entries) }

// Bytes returns the text of the file, in the order of files and statements.
func (b *File) Bytes() []byte {
	slices.SortStableFunc(b.entries, func(x, y Entry) int {
		return cmp.Or(strings.Compare(x.File, y.File), strings.Compare(x.Text, y.Text), strings.Compare(x.Rule, y.Rule), strings.Compare(x.Fingerprint, y.Fingerprint))
	})
	var out strings.Builder
	fmt.Fprintf(&out, "%s%d\n# Statements that semel lint does not report: a fingerprint, the rule, the file, the statement. Remove a line once it is fixed.\n", header, version)
	for i := range b.entries {
		e := &b.entries[i]
		text := []rune(strings.Join(strings.Fields(e.Text), " "))
		if len(text) > maxText {
			text = append(text[:maxText-1], '…')
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\n", e.Fingerprint, e.Rule, e.File, string(text))
	}
	return []byte(out.String())
}
