package main

import (
	"bufio"
	"fmt"
	"io"
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

// checkAnswers says where an intent had more than one effect, more than one
// answer, an answer without its effect, an answer and a cancellation, or was
// unknown after it had been answered.
func checkAnswers(steps []guardStep, found effects) (wrong []string) {
	for key, values := range found {
		if len(values) > 1 {
			wrong = append(wrong, fmt.Sprintf("key %s was executed %d times: %v (promise 3)", key, len(values), values))
		}
	}
	answered, cancelled := map[string]guardStep{}, map[string]bool{}
	for _, s := range steps {
		if s.Reply == nil {
			continue
		}
		key := s.Call.Key
		cancelled[key] = cancelled[key] || s.Reply.Said == wordCancelled
		if s.Reply.Said != wordDone {
			continue
		}
		if len(found[key]) == 0 || found[key][0] != s.Reply.Value {
			wrong = append(wrong, fmt.Sprintf("key %s was answered with %s, but its effects are %v (promise 7)", key, s.Reply.Value, found[key]))
		}
		first, known := answered[key]
		if known && first.Reply.Value != s.Reply.Value {
			wrong = append(wrong, fmt.Sprintf("key %s was answered with %s and with %s (promise 2)", key, first.Reply.Value, s.Reply.Value))
		}
		if !known || s.Ended < first.Ended {
			answered[key] = s
		}
	}
	for _, s := range steps {
		first, known := answered[s.Call.Key]
		if s.Reply != nil && s.Reply.Said == wordUnknown && known && s.Called > first.Ended {
			wrong = append(wrong, fmt.Sprintf("key %s was unknown at %d ns, after it had been answered at %d ns (promise 2)", s.Call.Key, s.Called, first.Ended))
		}
	}
	for key := range answered {
		if cancelled[key] {
			wrong = append(wrong, fmt.Sprintf("key %s was both answered and cancelled (promise 2)", key))
		}
	}
	return wrong
}
