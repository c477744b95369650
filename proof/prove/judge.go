package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	// patience bounds the search of one history; nearly all take milliseconds.
	patience = 20 * time.Second
	// slack bounds the distance of the store's clock from the machine's without a
	// jump: both show whole milliseconds, and servers read theirs once for a step.
	slack = 50
)

// clocks relate the store's clock to CLOCK_MONOTONIC.
type clocks struct {
	offsets       [2]int64 // the wall clock less monotonic, before and after, in nanoseconds
	removes       bool     // the server removes what has expired
	behind, ahead int64    // what the store's clock may differ by, in milliseconds
}

func (c *clocks) window(s *storeOperation) span {
	low, high := min(c.offsets[0], c.offsets[1]), max(c.offsets[0], c.offsets[1])
	w := span{(s.Called+low)/int64(time.Millisecond) - slack - c.behind, forever}
	if s.Reply != nil && s.Reply.definite() {
		w.to = (s.Ended+high)/int64(time.Millisecond) + slack + c.ahead
	}
	return w
}

// judge checks the answers of a store, and writes what breaks a promise into dir.
func judge(r *result, steps []storeOperation, c *clocks, dir string) error {
	r.violations = checkFences(steps)
	var errs []error
	if len(r.violations) > 0 {
		errs = append(errs, writeSteps(dir, "fences", steps))
	}
	byKey := map[int][]storeOperation{}
	for _, s := range steps {
		r.operations++
		if s.Reply == nil || !s.Reply.definite() {
			r.pending++
		}
		byKey[s.Call.Key] = append(byKey[s.Call.Key], s)
	}
	r.histories = len(byKey)
	for key, part := range byKey {
		errs = append(errs, r.search(part, c, dir, fmt.Sprintf("intent-%d", key)))
	}
	return errors.Join(errs...)
}

// search looks for an order of the steps of one intent.
func (r *result) search(steps []storeOperation, c *clocks, dir, name string) error {
	ops := operations(steps, c)
	m := model()
	found, info := porcupine.CheckOperationsVerbose(m, ops, patience)
	switch found {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		r.undecided++
		return writeSteps(dir, name, steps)
	case porcupine.Illegal:
	}
	r.violations = append(r.violations, fmt.Sprintf("%s: the contract allows no order of its %d steps (see %s.html and %s.json in %s); the longest ends before %s",
		name, len(ops), name, name, dir, stuck(ops, &info)))
	if err := writeSteps(dir, name, steps); err != nil {
		return err
	}
	return porcupine.VisualizePath(m, info, filepath.Join(dir, name+".html"))
}

// stuck describes the step before which the longest order ends, and what was
// known there: of those that are left, the one that was answered first.
func stuck(ops []porcupine.Operation, info *porcupine.LinearizationInfo) string {
	var longest []int
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	m := model()
	state := m.Init()
	placed := map[int]bool{}
	for _, i := range longest {
		placed[i] = true
		_, state = m.Step(state, ops[i].Input, ops[i].Output)
	}
	first := -1
	for i := range ops {
		if !placed[i] && (first < 0 || ops[i].Return < ops[first].Return) {
			first = i
		}
	}
	if first < 0 {
		return "its end"
	}
	return fmt.Sprintf("%s; known then: %s", m.DescribeOperation(ops[first].Input, ops[first].Output), m.DescribeState(state))
}

// operations converts the steps for porcupine, without unanswered lookups.
func operations(steps []storeOperation, c *clocks) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, len(steps))
	last := int64(math.MinInt64)
	for i := range steps {
		last = max(last, steps[i].Called, steps[i].Ended)
	}
	for i := range steps {
		s := &steps[i]
		op := porcupine.Operation{ClientId: s.Client, Input: s.Call, Call: s.Called, Return: s.Ended}
		out := observed{window: c.window(s), removes: c.removes}
		if s.Reply != nil && s.Reply.definite() {
			out.reply = s.Reply
		} else if op.Return = last + 1; s.Call.Verb == lookup {
			continue
		}
		op.Output = out
		ops = append(ops, op)
	}
	return ops
}

// writeSteps writes a history for people, in the order of the questions.
func writeSteps[Call, Reply any](dir, name string, steps []operation[Call, Reply]) error {
	sorted := slices.SortedFunc(slices.Values(steps), func(a, b operation[Call, Reply]) int { return int(a.Called - b.Called) })
	f, err := os.Create(filepath.Join(dir, name+".json")) //nolint:gosec // where the user wants it.
	if err != nil {
		return err
	}
	out := json.NewEncoder(f)
	for _, s := range sorted {
		err = errors.Join(err, out.Encode(s))
	}
	return errors.Join(err, f.Close())
}
