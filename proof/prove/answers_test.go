package main

import (
	"strings"
	"testing"
)

// at returns a wish with its answer.
func at(from, to int64, key, said, value string) guardOperation {
	return guardOperation{Called: from, Ended: to, Call: wish{Key: key}, Reply: &word{Said: said, Value: value}}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		effects string
		steps   []guardOperation
		want    string
	}{
		{"a good run", "k v\n", []guardOperation{at(1, 2, "k", wordUnknown, ""), at(1, 5, "k", wordDone, "v"), at(6, 7, "k", wordDone, "v")}, ""},
		{"never answered", "k v\n", []guardOperation{at(1, 2, "k", wordUnknown, ""), at(3, 4, "k", wordCancelled, "")}, ""},
		{"executed twice", "k v\nk w\n", []guardOperation{at(1, 2, "k", wordDone, "v")}, "executed 2 times"},
		{"answered without an effect", "", []guardOperation{at(1, 2, "k", wordDone, "v")}, "its effects are []"},
		{"answered with another", "k v\n", []guardOperation{at(1, 2, "k", wordDone, "w")}, "its effects are [v]"},
		{"two answers", "k v\n", []guardOperation{at(1, 2, "k", wordDone, "v"), at(3, 4, "k", wordDone, "w")}, "with v and with w"},
		{"forgotten", "k v\n", []guardOperation{at(1, 2, "k", wordDone, "v"), at(3, 4, "k", wordUnknown, "")}, "was unknown"},
		{"answered and cancelled", "k v\n", []guardOperation{at(1, 2, "k", wordDone, "v"), at(1, 4, "k", wordCancelled, "")}, "both answered and cancelled"},
	} {
		found, err := readEffects(strings.NewReader(c.effects))
		noError(t, err)
		got := strings.Join(checkAnswers(c.steps, found), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
