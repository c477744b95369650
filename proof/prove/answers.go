package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// effects holds the values of all effects, by key.
type effects map[string][]string

// effects reads what the effects of a scenario left.
func (e *errand) effects(ctx context.Context, p *target) (found effects, err error) {
	if e.Kind == kindTransaction {
		return readRows(ctx, p)
	}
	f, err := os.Open(e.Witness)
	if err != nil {
		return nil, err
	}
	if found, err = readEffects(f); err != nil {
		err = fmt.Errorf("read the effects: %w", err)
	}
	return found, errors.Join(err, f.Close())
}

// judgeAnswers checks the answers against the effects, and writes them into dir when they break a promise.
func judgeAnswers(r *result, steps []guardOperation, found effects, dir string) error {
	r.operations = len(steps)
	r.violations = append(r.violations, checkAnswers(steps, found)...)
	keys := map[string]bool{}
	for _, s := range steps {
		if s.Reply == nil || s.Reply.Said == wordNothing {
			r.pending++
		}
		keys[s.Call.Key] = true
	}
	r.histories = len(keys)
	if len(r.violations) > 0 {
		return writeSteps(dir, "answers", steps)
	}
	return nil
}

// readEffects reads lines of effects. A line is written in one call, so none is torn.
func readEffects(r io.Reader) (effects, error) {
	found := effects{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), " ")
		if !ok {
			return nil, fmt.Errorf("the line %q of an effect has no value", lines.Text())
		}
		found[key] = append(found[key], value)
	}
	return found, lines.Err()
}

// story collects the effects and answers of one key.
type story struct {
	key       string
	effects   []string
	answers   []guardOperation
	unknown   []guardOperation
	cancelled bool
}

// checkAnswers returns every intent that had more than one effect, different answers, an answer without its effect, an answer and
// a cancellation, or was unknown after it had been answered.
func checkAnswers(steps []guardOperation, found effects) (wrong []string) {
	stories := map[string]*story{}
	of := func(key string) *story {
		if stories[key] == nil {
			stories[key] = &story{key: key, effects: found[key]}
		}
		return stories[key]
	}
	for key := range found {
		of(key)
	}
	for _, s := range steps {
		if s.Reply != nil {
			of(s.Call.Key).add(s)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(stories)) {
		wrong = append(wrong, stories[key].check()...)
	}
	return wrong
}

func (st *story) add(s guardOperation) {
	switch s.Reply.Said {
	case wordDone:
		st.answers = append(st.answers, s)
	case wordUnknown:
		st.unknown = append(st.unknown, s)
	case wordCancelled:
		st.cancelled = true
	}
}

func (st *story) check() (wrong []string) {
	accuse := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf("key %s ", st.key)+fmt.Sprintf(format, args...))
	}
	if n := len(st.effects); n > 1 {
		accuse("was executed %d times: %v (promise 3)", n, st.effects)
	}
	if len(st.answers) == 0 {
		return wrong
	}
	first := slices.MinFunc(st.answers, func(a, b guardOperation) int { return cmp.Compare(a.Ended, b.Ended) })
	for _, s := range st.answers {
		if !slices.Contains(st.effects, s.Reply.Value) {
			accuse("was answered with %s, but its effects are %v (promise 7)", s.Reply.Value, st.effects)
		}
		if s.Reply.Value != first.Reply.Value {
			accuse("was answered with %s and with %s (promise 2)", first.Reply.Value, s.Reply.Value)
		}
	}
	for _, s := range st.unknown {
		if s.Called > first.Ended {
			accuse("was unknown at %d ns, after it had been answered at %d ns (promise 2)", s.Called, first.Ended)
		}
	}
	if st.cancelled {
		accuse("was both answered and cancelled (promise 2)")
	}
	return wrong
}
