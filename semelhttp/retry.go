package semelhttp

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
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

// judgeResponse returns nil for a definitive response, which it leaves
// readable from its start, and closes any other.
func judgeResponse(resp *http.Response) *AnswerError {
	a := &AnswerError{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	switch resp.StatusCode {
	case http.StatusConflict:
		told, err := peekProblem(resp) // an answer cut short may have been in-flight
		a.Problem = told.Type
		again := told.Type == problemInFlightType || (told.Type == problemUnknownType && told.Retryable)
		if err == nil && !again {
			return nil
		}
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if Replayed(resp) {
			return nil
		}
		told, err := peekProblem(resp)
		a.Problem = told.Type
		if err == nil && told.Type == problemUnknownType && !told.Retryable {
			return nil
		}
	default:
		return nil
	}
	discard(resp.Body)
	return a
}

// toldProblem holds what a retry has to know of a problem.
type toldProblem struct {
	Type      string `json:"type"`
	Retryable bool   `json:"retryable"`
}

// peekProblem returns the problem of a problem+json body, or none for any other,
// and puts back what it read. The error is one of reading.
func peekProblem(resp *http.Response) (told toldProblem, err error) {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || media != "application/problem+json" {
		return told, nil //nolint:nilerr // a media type that cannot be read is another one.
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, maxDiscardBytes))
	if err != nil {
		return told, err
	}
	resp.Body = joinedBody{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	if json.Unmarshal(head, &told) != nil {
		return toldProblem{}, nil //nolint:nilerr // what cannot be read is not a problem that we know.
	}
	return told, nil
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

// isHopeless reports whether an error before anything was sent will come again.
func isHopeless(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}
