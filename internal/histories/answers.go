package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// effects are the lines that effects wrote, by key.
type effects map[string][]string

// readEffects reads them. A line is written in one call, so none is torn.
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

// story is what became of one key.
type story struct {
	key       string
	effects   []string
	answers   []guardStep
	unknown   []guardStep
	cancelled bool
}

// checkAnswers says where an intent had more than one effect, more than one
// answer, an answer without its effect, an answer and a cancellation, or was
// unknown after it had been answered.
func checkAnswers(steps []guardStep, found effects) (wrong []string) {
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

func (st *story) add(s guardStep) {
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
	first := slices.MinFunc(st.answers, func(a, b guardStep) int { return cmp.Compare(a.Ended, b.Ended) })
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
