package semelhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// maxAnswerBytes is the longest answer that is read within its attempt; a longer one is the caller's to read.
	maxAnswerBytes = 1 << 20
	// maxProblemBytes is the longest problem document that is looked at; a longer one is judged by its status.
	maxProblemBytes = 64 << 10
	// maxDiscardBytes and maxDiscardTime bound what is read of an answer that
	// is thrown away, so that its connection can be used again.
	maxDiscardBytes = 64 << 10
	maxDiscardTime  = time.Second

	problemInFlightType = "urn:semel:problem:in-flight"
	problemUnknownType  = "urn:semel:problem:outcome-unknown"
)

// Replayed reports whether the response is the recorded answer of an earlier
// attempt.
func Replayed(resp *http.Response) bool {
	return resp.Header.Get("Idempotent-Replayed") == "true" || resp.Header.Get("Idempotency-Status") == "replayed"
}

// judgeResponse returns nil for a definitive answer, which it leaves readable from its start. It closes any other. An error
// means that the answer broke off, which counts as lost (RFC 9112, section 8).
func judgeResponse(resp *http.Response) (*AnswerError, error) {
	a := &AnswerError{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	again, problem := asksAgain(resp), isProblem(resp.Header)
	if !again || problem {
		head, err := arrive(resp, problem)
		if err != nil {
			resp.Body.Close() //nolint:errcheck // it broke off.
			return nil, fmt.Errorf("read the answer: %w", err)
		}
		if problem {
			told := problemIn(head)
			a.Problem = told.Type
			again = (again && told.Type != problemUnknownType) || told.Type == problemInFlightType ||
				(told.Type == problemUnknownType && told.Retryable)
		}
	}
	if !again {
		return nil, nil //nolint:nilnil // definitive.
	}
	discard(resp.Body)
	return a, nil
}

// asksAgain reports whether the status asks for another attempt, or comes from a proxy that has no answer (520 to 530,
// 598, 599, 999), and the answer is not a replay.
func asksAgain(resp *http.Response) bool {
	switch status := resp.StatusCode; status {
	case http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusTooEarly, http.StatusTooManyRequests:
		return !Replayed(resp)
	default:
		return status >= http.StatusInternalServerError && !Replayed(resp)
	}
}

// arrive reads an answer into memory, so that it is whole before it is judged. It reads only the start of one longer than
// maxAnswerBytes, and nothing of a stream: resp.Body is then an [unfinishedBody].
func arrive(resp *http.Response, problem bool) (head []byte, err error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, nil
	}
	if Streams(resp.Header.Get("Content-Type")) {
		resp.Body = &unfinishedBody{ReadCloser: resp.Body}
		return nil, nil
	}
	if head, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1)); err != nil {
		return nil, err
	}
	whole := len(head) <= maxAnswerBytes
	switch {
	case whole:
		resp.Body = joinedBody{bytes.NewReader(head), resp.Body}
	case problem:
		return nil, fmt.Errorf("a problem document with more than %d bytes", maxAnswerBytes)
	default:
		resp.Body = &unfinishedBody{ReadCloser: joinedBody{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}}
	}
	return head, nil
}

// unfinishedBody is the body of an answer that was judged before it was whole.
type unfinishedBody struct {
	io.ReadCloser
	brokeOff func(error) error // returns what the reader gets for an error before the end
}

func (b *unfinishedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.brokeOff(err)
	}
	return n, err
}

// toldProblem holds what a retry has to know of a problem.
type toldProblem struct {
	Type      string `json:"type"`
	Retryable bool   `json:"retryable"`
}

func isProblem(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && media == "application/problem+json"
}

// problemIn returns the problem in a body, or none if that is too long or cannot be read.
func problemIn(body []byte) (told toldProblem) {
	if len(body) > maxProblemBytes || json.Unmarshal(body, &told) != nil {
		return toldProblem{}
	}
	return told
}

// discard reads a little, for the connection's sake, and closes the body.
func discard(body io.ReadCloser) {
	closer := time.AfterFunc(maxDiscardTime, func() { body.Close() }) //nolint:errcheck // ends a slow body.
	defer closer.Stop()
	io.CopyN(io.Discard, body, maxDiscardBytes) //nolint:errcheck // whatever comes is thrown away.
	body.Close()                                //nolint:errcheck // the answer is not used.
}

// retryAfter reads Retry-After: seconds, or a date, which is compared with the
// server's own Date where there is one.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if n, err := strconv.ParseUint(v, 10, 64); err == nil {
		const most = uint64(24 * time.Hour / time.Second)
		return time.Duration(min(n, most)) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// jitter is a random pause before attempt n+1: between 0 and first doubled n-1
// times, at most most.
func jitter(n int, first, most time.Duration) time.Duration {
	bound := first
	for i := 1; i < n && bound < most; i++ {
		bound *= 2
	}
	return rand.N(max(1, min(bound, most)+1)) //nolint:gosec // spreads load, guards nothing.
}

// connTrail follows an attempt through httptrace.
type connTrail struct {
	asked atomic.Bool // a connection was looked for
	got   atomic.Bool // a connection was there to send on
}

func (c *connTrail) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { c.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { c.got.Store(true) },
	}
}

// unsent reports whether an attempt that ended with err surely sent nothing.
func (c *connTrail) unsent(err error) bool {
	if c.got.Load() {
		return false
	}
	if c.asked.Load() {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
