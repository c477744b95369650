package judge_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/semel-dev/semel/internal/claimtest"
	"github.com/semel-dev/semel/internal/dialect"
	"github.com/semel-dev/semel/lint/internal/judge"
	"github.com/semel-dev/semel/lint/internal/parse"
	"github.com/semel-dev/semel/lint/internal/schema"
	"github.com/semel-dev/semel/lint/internal/tree"
)

// No statement with tokens that are lost, doubled, exchanged or those of another one makes a parser, a translator or a rule
// panic, each lies in its text, and none that is not understood is called safe.
func TestMutated(t *testing.T) {
	t.Parallel()
	n := 3_000
	if claimtest.Long() {
		n = 120_000
	}
	start := seed(t)
	for _, d := range dialect.All() {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			s := learn(d, read(t, "schema_"+d.String()+".sql"))
			texts := examples(t, d)
			r := rand.New(rand.NewPCG(start, uint64(d)))
			understood := 0
			for range n {
				text := mutated(r, texts)
				if judgeAll(t, d, s, text) {
					understood++
				}
			}
			t.Logf("%s: %d of %d texts, made from %d, can be read", d, understood, n, len(texts))
			const share = 10
			if understood < n/share || understood > n-n/share {
				t.Errorf("%s: %d of %d texts can be read: they are too much like statements, or not enough", d, understood, n)
			}
		})
	}
}

// judgeAll judges the statements of a text, and reports whether all of them can be read.
func judgeAll(t *testing.T, d dialect.Dialect, s *schema.Schema, text string) bool {
	t.Helper()
	end, understood := 0, true
	for _, p := range parse.Statements(d, text) {
		if p.Start < end || p.End < p.Start || p.End > len(text) || p.Statement == nil {
			t.Fatalf("%q: a statement from %d to %d after one that ends at %d", text, p.Start, p.End, end)
		}
		end = p.End
		got := judge.Statement(d, s, p.Statement)
		why := got.Why
		switch st := p.Statement.(type) {
		case *tree.Opaque:
			if understood, why = false, why+st.Why; got.Verdict == judge.Safe {
				t.Errorf("%q is not understood, and called safe", text)
			}
		case *tree.Define:
			understood, why = understood && st.Unreadable == "", why+st.Unreadable
		}
		for _, failure := range []string{"the parser failed", "cannot be translated", "the parser panicked", "the linter failed", "runtime error"} {
			if strings.Contains(why, failure) {
				t.Fatalf("%q: %s", text, why)
			}
		}
	}
	return understood
}

var token = regexp.MustCompile(`\s+|\w+|'(?:[^']|'')*'|[<>=|!:&@#-]+|.`)

// mutated changes one to three tokens of a statement.
func mutated(r *rand.Rand, texts [][]string) string {
	tokens := slices.Clone(texts[r.IntN(len(texts))])
	for range 1 + r.IntN(3) {
		other := texts[r.IntN(len(texts))]
		i, j := r.IntN(len(tokens)), r.IntN(len(tokens))
		switch r.IntN(12) {
		case 0:
			tokens[i] = ""
		case 1:
			tokens[i] += " " + tokens[i]
		case 2:
			tokens[i], tokens[j] = tokens[j], tokens[i]
		case 3:
			tokens[i] = other[r.IntN(len(other))]
		case 4:
			tokens = append(slices.Clone(tokens[:i+1]), other[r.IntN(len(other)):]...)
		default: // one of its kind
			for range 20 {
				if with := other[r.IntN(len(other))]; kind(with) == kind(tokens[i]) {
					tokens[i] = with
					break
				}
			}
		}
	}
	return strings.Join(tokens, "")
}

// kind sorts tokens by their first character: blanks, numbers, words, and each other character on its own.
func kind(token string) rune {
	first, _ := utf8.DecodeRuneInString(token)
	switch {
	case unicode.IsSpace(first):
		return ' '
	case unicode.IsDigit(first):
		return '0'
	case unicode.IsLetter(first) || first == '_':
		return 'a'
	}
	return first
}

// examples are the tokens of statements: those of the truth, and those of the tests of the parser.
func examples(t *testing.T, d dialect.Dialect) (list [][]string) {
	t.Helper()
	add := func(text string) {
		if tokens := token.FindAllString(text, -1); len(tokens) > 0 {
			list = append(list, tokens)
		}
	}
	for _, r := range truths(t, d) {
		add(r.statement)
	}
	files, err := filepath.Glob(map[dialect.Dialect]string{pg: "../postgres/testdata/*.golden", my: "../mysql/testdata/*.txt", lite: "../sqlite/testdata/*.golden"}[d])
	if err != nil || len(files) == 0 {
		t.Fatal("no examples of ", d, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if d == my { // texts, and their trees behind an arrow
			for block := range strings.SplitSeq(string(data), "\n\n") {
				text, _, _ := strings.Cut(block, "\n-> ")
				add(text)
			}
			continue
		}
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "> "); ok {
				add(strings.ReplaceAll(text, `\n`, "\n"))
			}
		}
	}
	return list
}
