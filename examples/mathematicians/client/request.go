package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/semel-dev/semel/ids"
)

const (
	maxReplyBytes = 64 << 10
	maxRetryAfter = time.Hour

	// problemPrefix begins the types of this server's problems. An answer of a
	// proxy, or the sign-in page of a hotel, refuses nothing.
	problemPrefix = "urn:semel:mathematicians:"
)

// verdict is the outcome of one request.
type verdict struct {
	what   what
	reason string
	after  time.Duration // the server's wish for the next attempt
}

type what uint8

const (
	unanswered what = iota // the server was not reached, or asks for a pause: it may have happened
	elsewhere              // an answer that says nothing about this entry for good: it may have happened
	created                // it is there
	refused                // it is not, and will not be
)

// askID asks for an id. The verdict is created or unanswered.
func (q *Queue) askID(ctx context.Context, kind Kind) (string, verdict) {
	status, header, text, err := q.ask(ctx, http.MethodGet, kind.path()+"/new", nil)
	if err != nil {
		return "", verdict{reason: err.Error()}
	}
	var said struct{ Unique string }
	if status == http.StatusOK && isMedia(header, "application/json") && json.Unmarshal(text, &said) == nil {
		if id, err := ids.ParseUUID(said.Unique); err == nil {
			return id.String(), verdict{what: created}
		}
	}
	return "", verdict{reason: fmt.Sprintf("the server answered %d, and no id", status), after: retryAfter(header)}
}

// post sends the entry with its id.
func (q *Queue) post(ctx context.Context, p parcel) verdict {
	first, last := splitName(p.text)
	body := map[string]any{"unique": p.unique, "name": map[string]string{"firstName": first, "lastName": last}}
	if p.kind == Paper {
		body = map[string]any{"unique": p.unique, "author": p.parent, "title": p.text}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return verdict{what: refused, reason: "it cannot be written as JSON"}
	}
	status, header, text, err := q.ask(ctx, http.MethodPost, p.kind.path(), text)
	if err != nil {
		return verdict{reason: err.Error()}
	}
	return judge(p, status, header, text)
}

// splitName takes the last word for the last name.
func splitName(text string) (first, last string) {
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		return text[:i], text[i+1:]
	}
	return "", text
}

// judge is the one table from answers to verdicts.
func judge(p parcel, status int, header http.Header, text []byte) verdict {
	v := verdict{what: elsewhere, reason: fmt.Sprintf("the server answered %d", status), after: retryAfter(header)}
	switch {
	case status == http.StatusCreated:
		var said struct{ Unique string }
		if isMedia(header, "application/json") && json.Unmarshal(text, &said) == nil && said.Unique == p.unique {
			v.what = created
		}
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable,
		status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		v.what = unanswered
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout,
		status == http.StatusMisdirectedRequest, status == http.StatusTooEarly:
		// they pass
	case status >= 400 && status < 500:
		var said struct{ Type, Detail string }
		if isMedia(header, "application/problem+json") && json.Unmarshal(text, &said) == nil && strings.HasPrefix(said.Type, problemPrefix) {
			v.what, v.reason = refused, fmt.Sprintf("%d: %s", status, said.Detail)
		}
	}
	return v
}

func (k Kind) path() string { return "/api/" + string(k) + "s" }

// ask carries one request, and reads the whole answer.
func (q *Queue) ask(ctx context.Context, method, path string, body []byte) (status int, header http.Header, text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.opts.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, q.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := q.client.Do(r)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("ask the server: %w", err)
	}
	defer reply.Body.Close() //nolint:errcheck // it was read.
	text, err = io.ReadAll(io.LimitReader(reply.Body, maxReplyBytes))
	if err != nil {
		return 0, nil, nil, fmt.Errorf("read the answer: %w", err)
	}
	return reply.StatusCode, reply.Header, text, nil
}

func isMedia(header http.Header, want string) bool {
	got, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && got == want
}

// retryAfter reads seconds or a date, up to an hour.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(0, time.Until(at)), maxRetryAfter)
	}
	return 0
}
