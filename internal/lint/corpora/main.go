// Command corpora measures semel lint on public code: how many statements it calls safe, and how many it cannot tell. See
// scripts/lint-corpora, which fetches the code, and the table in docs/lint.md.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/semel-dev/semel/lint"
	"github.com/semel-dev/semel/lint/vet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpora:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("corpora", flag.ContinueOnError)
	list := flags.Bool("list", false, "print the name, the address and the commit of each project")
	sample := flags.Int("sample", 0, "print so many statements of a verdict")
	verdict := flags.String("verdict", lint.NotSafe.String(), "the verdict of the sample")
	seed := flags.Int("seed", 1, "chooses the sample")
	only := flags.String("only", "", "measure the projects alone whose name contains this")
	write := flags.String("write", "", "write the sample to this `folder`, a .sql file for each part")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *list {
		for _, c := range corpora() {
			fmt.Fprintln(out, c.name, c.url, c.commit) //nolint:errcheck // to a terminal.
		}
		return nil
	}
	if flags.NArg() != 1 {
		return errors.New("name the folder with the checkouts, each called as -list says")
	}
	root, err := filepath.Abs(flags.Arg(0))
	if err != nil {
		return err
	}
	if *write != "" {
		if *write, err = filepath.Abs(*write); err != nil {
			return err
		}
	}
	all, err := measure(ctx, root, *only, out)
	if err != nil || *sample == 0 {
		return err
	}
	return show(out, choose(all, *verdict, *sample, *seed), *write)
}

// measured is a statement of a part.
type measured struct {
	part string
	lint.Finding
}

// measure judges all parts, and prints a row for each.
func measure(ctx context.Context, root, only string, out io.Writer) (all []measured, err error) {
	fmt.Fprintln(out, "| project | read from | statements | safe | safe but for a time | not safe | cannot tell |\n|---|---|---|---|---|---|---|") //nolint:errcheck // to a terminal.
	for _, c := range corpora() {
		if !strings.Contains(c.name, only) {
			continue
		}
		if err := os.Chdir(filepath.Join(root, c.name)); err != nil { // packages are loaded from the working directory
			return nil, err
		}
		for _, p := range c.parts {
			found, err := p.judge(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.label, err)
			}
			label := fmt.Sprintf("%s %.7s", p.label, c.commit)
			for _, source := range []string{"Go", ".sql"} {
				row(out, label, source, slices.DeleteFunc(slices.Clone(found), func(f lint.Finding) bool { return sourceOf(&f) != source }))
			}
			for i := range found {
				if !p.bare {
					all = append(all, measured{p.label, found[i]})
				}
			}
		}
	}
	return all, nil
}

func sourceOf(f *lint.Finding) string {
	if strings.HasSuffix(f.File, ".sql") {
		return ".sql"
	}
	return "Go"
}

// judge returns the statements of a part that write.
func (p *part) judge(ctx context.Context) ([]lint.Finding, error) {
	schema, err := expand(p.schema)
	if err != nil {
		return nil, err
	}
	if p.module != "" {
		file, err := ofModule(ctx, p.module, p.inside)
		if err != nil {
			return nil, err
		}
		schema = append(schema, file)
	}
	paths, err := expand(p.paths)
	if err != nil {
		return nil, err
	}
	for i := range paths {
		paths[i] = "./" + filepath.ToSlash(paths[i]) + "/..."
	}
	o := &lint.Options{Dialect: p.dialect, Schema: schema}
	if p.bare {
		o.Schema = nil
	}
	found, err := vet.Run(ctx, paths, o)
	return slices.DeleteFunc(found, func(f lint.Finding) bool {
		generated := strings.HasSuffix(f.File, ".sql.go") // by sqlc, from a statement that is counted
		return generated || len(f.Writes) == 0 && f.Rule != "variable-text"
	}), err
}

// ofModule returns a file of a module that the project in the working directory uses.
func ofModule(ctx context.Context, module, inside string) (string, error) {
	var of struct{ Dir string }
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", module).Output() //nolint:gosec // a name of the list in corpora.go.
	if err == nil {
		err = json.Unmarshal(out, &of)
	}
	if err != nil {
		return "", fmt.Errorf("find module %s: %w", module, err)
	}
	return filepath.Join(of.Dir, filepath.FromSlash(inside)), nil
}

// expand returns the files and folders of patterns, without tests. Each has to match something.
func expand(patterns []string) (all []string, err error) {
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			return nil, errors.Join(err, fmt.Errorf("nothing matches %s", pattern))
		}
		all = append(all, slices.DeleteFunc(found, func(name string) bool { return strings.HasSuffix(name, "_test.go") })...)
	}
	return all, nil
}

// row prints the counts of some statements, if there are any.
func row(out io.Writer, label, source string, found []lint.Finding) {
	if len(found) == 0 {
		return
	}
	counts := map[lint.Verdict]int{}
	for i := range found {
		counts[found[i].Verdict]++
	}
	share := func(v lint.Verdict) string {
		return fmt.Sprintf("%d (%d %%)", counts[v], (100*counts[v]+len(found)/2)/len(found))
	}
	fmt.Fprintf(out, "| %s | %s | %d | %s | %s | %s | %s |\n", label, source, len(found), //nolint:errcheck // to a terminal.
		share(lint.Safe), share(lint.SafeButTime), share(lint.NotSafe), share(lint.CannotTell))
}

// choose returns n statements of a verdict, in an order that the seed decides.
func choose(all []measured, verdict string, n, seed int) []measured {
	order := func(m measured) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s:%d %s", seed, m.part, m.File, m.Line, m.SQL))
		return string(sum[:])
	}
	all = slices.DeleteFunc(slices.Clone(all), func(m measured) bool { return m.Verdict.String() != verdict })
	slices.SortFunc(all, func(a, b measured) int { return strings.Compare(order(a), order(b)) })
	all = all[:min(n, len(all))]
	slices.SortStableFunc(all, func(a, b measured) int {
		return cmp.Or(strings.Compare(a.part, b.part), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return all
}

// show prints a sample, and writes it to files for semel lint --prove.
func show(out io.Writer, sample []measured, folder string) error {
	files := map[string]string{}
	fmt.Fprintln(out, "\n| project | place | rule | statement |\n|---|---|---|---|") //nolint:errcheck // to a terminal.
	for _, m := range sample {
		statement := strings.Join(strings.Fields(m.SQL), " ")
		fmt.Fprintf(out, "| %s | %s:%d | `%s` | `%.100s` |\n", m.part, m.File, m.Line, m.Rule, statement) //nolint:errcheck // to a terminal.
		files[m.part] += fmt.Sprintf("-- %s:%d\n%s;\n\n", m.File, m.Line, strings.TrimRight(m.SQL, "; \n"))
	}
	if folder == "" {
		return nil
	}
	for part, text := range files {
		if err := os.WriteFile(filepath.Join(folder, strings.ReplaceAll(part, ", ", "_")+".sql"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
