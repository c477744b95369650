package command

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/spf13/cobra"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
)

const (
	// minPrefix is the least number of digits that may name a record.
	minPrefix = 4
	// maxScan bounds the records that are read to find a prefix.
	maxScan = 1_000_000
	// maxShown bounds the records that are listed for an ambiguous prefix.
	maxShown = 10
)

// selection is a person's name for one record.
type selection struct {
	digits      string // of the digest
	scope, name string
}

func (s *selection) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.scope, "scope", "", "`scope` of the key, together with --name")
	cmd.Flags().StringVar(&s.name, "name", "", "`name` of the key: the value that the caller sends")
}

// read takes the digest from the arguments.
func (s *selection) read(args []string) error {
	if len(args) > 0 {
		s.digits = strings.ToLower(args[0])
	}
	byKey := s.scope != "" || s.name != ""
	switch {
	case s.digits == "" && !byKey:
		return cli.Usagef("the record is missing: give the first digits of its digest, or --scope and --name")
	case s.digits != "" && byKey:
		return cli.Usagef("name the record either by its digest or by --scope and --name, not by both")
	case byKey && (s.scope == "" || s.name == ""):
		return cli.Usagef("--scope and --name belong together: a name is only valid within its scope")
	case byKey:
		return nil
	case len(s.digits) < minPrefix || len(s.digits) > 2*len(semel.Digest{}) || strings.Trim(s.digits, "0123456789abcdef") != "":
		return cli.Usagef("%q is not a digest: give %d to %d hexadecimal digits", s.digits, minPrefix, 2*len(semel.Digest{}))
	}
	return nil
}

// find returns the selected record from the store.
func (s *selection) find(ctx context.Context, l *ledger) (semel.Record, error) {
	digest, err := semel.ParseDigest(s.digits)
	if s.digits == "" {
		var rec semel.Record
		rec, err = l.guard.Lookup(ctx, semel.Key{Scope: s.scope, Name: s.name})
		if err != nil && !errors.Is(err, semel.ErrUnreadable) {
			return semel.Record{}, err
		}
		digest, err = rec.Digest, nil
	}
	if err == nil {
		rec, err := l.store.Lookup(ctx, digest)
		if err != nil {
			return semel.Record{}, fmt.Errorf("look up record: %w", err)
		}
		return rec, nil
	}
	var matches []semel.Record
	scanned := 0
	for rec, err := range l.all(ctx, semel.ListParams{}) {
		if err != nil {
			return semel.Record{}, err
		}
		if scanned++; scanned > maxScan {
			return semel.Record{}, cli.Usagef("the store holds more than %d records, too many to look for a prefix; give the whole digest, or --scope and --name", maxScan)
		}
		if strings.HasPrefix(rec.Digest.String(), s.digits) {
			matches = append(matches, rec)
		}
		if len(matches) > maxShown {
			break
		}
	}
	switch len(matches) {
	case 0:
		return semel.Record{}, cli.Found(fmt.Errorf("no record has a digest that starts with %s (see: semel records list)", s.digits))
	case 1:
		rec, err := l.store.Lookup(ctx, matches[0].Digest)
		if err != nil {
			return semel.Record{}, fmt.Errorf("look up record: %w", err)
		}
		return rec, nil
	}
	return semel.Record{}, cli.Usage(ambiguous(s.digits, matches))
}

func ambiguous(digits string, matches []semel.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "more than one record has a digest that starts with %s; give more digits:", digits)
	for i := range matches {
		if i == maxShown {
			b.WriteString("\n  and others")
			break
		}
		rec := &matches[i]
		fmt.Fprintf(&b, "\n  %s  %s  %s", rec.Digest, stateText(rec), cli.Plain(rec.Name))
	}
	return errors.New(b.String())
}

// all yields the records that match p, page by page.
func (l *ledger) all(ctx context.Context, p semel.ListParams) iter.Seq2[semel.Record, error] {
	return func(yield func(semel.Record, error) bool) {
		for {
			page, err := l.lister.List(ctx, p)
			if err != nil {
				yield(semel.Record{}, fmt.Errorf("list records: %w", err))
				return
			}
			for _, rec := range page.Records {
				if !yield(rec, nil) {
					return
				}
			}
			if p.After = page.Next; p.After == "" {
				return
			}
		}
	}
}
