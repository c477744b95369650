package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/semel-dev/semel"
)

// maxLine bounds one line of a record of events.
const maxLine = 1 << 16

// call is a step of a store, as it was asked for.
type call struct {
	Verb      verb        `json:"verb"`
	Key       int         `json:"key"`
	Owner     string      `json:"owner,omitempty"`
	Fence     semel.Fence `json:"fence,omitempty"` // of a claim: the one to take over
	Lease     int64       `json:"lease_ms,omitempty"`
	Retention int64       `json:"retention_ms,omitempty"`
	To        semel.State `json:"to,omitempty"`
	Outcome   string      `json:"outcome,omitempty"`
	Kept      bool        `json:"kept,omitempty"`
}

type verb string

const (
	claim  verb = "claim"
	renew  verb = "renew"
	settle verb = "settle"
	lookup verb = "lookup"
)

// reply is the answer. Without one the step may be taken at any time, or never.
type reply struct {
	Err  string `json:"err,omitempty"` // a word below, or the text of an error that leaves the outcome open
	Won  bool   `json:"won,omitempty"`
	Seen *seen  `json:"seen,omitempty"`
}

// seen is a record as an answer showed it, with times of the store's clock.
type seen struct {
	State   semel.State `json:"state"`
	Fence   semel.Fence `json:"fence"`
	Owner   string      `json:"owner"`
	Attempt int         `json:"attempt"`
	Outcome string      `json:"outcome,omitempty"`
	Kept    bool        `json:"kept,omitempty"`
	Claimed int64       `json:"claimed_ms"`
	Settled int64       `json:"settled_ms,omitempty"`
	Lease   int64       `json:"lease_until_ms"`
	Expires int64       `json:"expires_ms"`
	Read    int64       `json:"read_ms"`
}

// The words of errors that say what happened.
const (
	wordLost     = "lost"
	wordSettled  = "settled"
	wordNotFound = "not found"
	wordFull     = "full"
)

// wordOf returns the word for an error of a store, or its text.
func wordOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, semel.ErrLost):
		return wordLost
	case errors.Is(err, semel.ErrSettled):
		return wordSettled
	case errors.Is(err, semel.ErrNotFound):
		return wordNotFound
	case errors.Is(err, semel.ErrFull):
		return wordFull
	}
	return "error: " + err.Error()
}

// definite reports whether the answer says what happened.
func (r *reply) definite() bool {
	switch r.Err {
	case "", wordLost, wordSettled, wordNotFound, wordFull:
		return true
	}
	return false
}

func seenOf(r *semel.Record) *seen {
	return &seen{
		State: r.State, Fence: r.Fence, Owner: fmt.Sprintf("%x", r.Owner), Attempt: r.Attempt,
		Outcome: string(r.Outcome), Kept: r.Kept, Claimed: milli(r.ClaimedAt), Settled: milli(r.SettledAt),
		Lease: milli(r.LeaseUntil), Expires: milli(r.ExpiresAt), Read: milli(r.ReadAt),
	}
}

func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// event is one line of a record of events: a call, or the reply to it.
type event[Call, Reply any] struct {
	ID     int64  `json:"id"` // of the call, in its file
	Client int    `json:"client"`
	At     int64  `json:"at_ns"` // of CLOCK_MONOTONIC
	Call   *Call  `json:"call,omitempty"`
	Reply  *Reply `json:"reply,omitempty"`
}

// recorder writes events down as they happen. It is safe for concurrent use.
type recorder[Call, Reply any] struct {
	out io.Writer // takes a line in one call
	ids atomic.Int64
}

// newRecorder makes a file of its own for this process in dir.
func newRecorder[Call, Reply any](dir string) (*recorder[Call, Reply], error) {
	f, err := os.CreateTemp(dir, "events-*.jsonl") // lives until the process ends
	if err != nil {
		return nil, err
	}
	return &recorder[Call, Reply]{out: f}, nil
}

// record takes the step between two lines.
func (r *recorder[Call, Reply]) record(client int, in Call, do func() Reply) (Reply, error) {
	id := r.ids.Add(1)
	var none Reply
	if err := r.write(event[Call, Reply]{ID: id, Client: client, At: monotonic(), Call: &in}); err != nil {
		return none, err
	}
	out := do()
	return out, r.write(event[Call, Reply]{ID: id, Client: client, At: monotonic(), Reply: &out})
}

func (r *recorder[Call, Reply]) write(e event[Call, Reply]) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = r.out.Write(append(line, '\n'))
	return err
}

// operation is a call and, where there is one, its reply.
type operation[Call, Reply any] struct {
	Client int    `json:"client"`
	Called int64  `json:"called_ns"`
	Ended  int64  `json:"ended_ns,omitempty"` // 0 without a reply
	Call   Call   `json:"call"`
	Reply  *Reply `json:"reply,omitempty"`
}

// readSteps reads what all processes wrote into dir.
func readSteps[Call, Reply any](dir string) ([]operation[Call, Reply], error) {
	files, err := filepath.Glob(filepath.Join(dir, "events-*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []operation[Call, Reply]
	for _, name := range files {
		f, err := os.Open(name) //nolint:gosec // of our own folder.
		if err != nil {
			return nil, err
		}
		steps, err := parseSteps[Call, Reply](f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, steps...)
	}
	return all, nil
}

// parseSteps reads one file. A last line that its process did not finish is
// left out: the process was killed before it asked, or before it heard.
func parseSteps[Call, Reply any](r io.Reader) ([]operation[Call, Reply], error) {
	reader := bufio.NewReaderSize(r, maxLine)
	var steps []operation[Call, Reply]
	index := map[int64]int{}
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return steps, nil
		}
		if err != nil {
			return nil, err
		}
		var e event[Call, Reply]
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		switch at, known := index[e.ID]; {
		case e.Call != nil:
			index[e.ID] = len(steps)
			steps = append(steps, operation[Call, Reply]{Client: e.Client, Called: e.At, Call: *e.Call})
		case e.Reply != nil && known:
			steps[at].Ended, steps[at].Reply = e.At, e.Reply
		default:
			return nil, fmt.Errorf("line %q answers nothing", line)
		}
	}
}
