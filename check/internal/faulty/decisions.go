package faulty

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// Decisions holds all decisions of an idempotency layer. [Correct] returns correct ones; a mistake replaces one of
// them.
type Decisions struct {
	// Methods are those that use keys.
	Methods []string
	// Required rejects requests without a key.
	Required bool
	// Dedup only stops duplicates, and keeps no answers.
	Dedup bool
	// Silent neither publishes a policy nor links to it.
	Silent bool
	// Forgetful keeps records in the process only.
	Forgetful bool
	// Wait bounds how long a duplicate waits for the answer of the running request.
	Wait time.Duration
	// Retention is the time for which records are kept.
	Retention time.Duration

	// Key reads the key of a request. It returns errNoKey if there is none, and another error if it is invalid.
	Key func(*http.Request) (string, error)
	// Scope identifies the owner of the key.
	Scope func(*http.Request) string
	// Read reads the whole body.
	Read func(*http.Request) ([]byte, error)
	// Fingerprint distinguishes requests.
	Fingerprint func(r *http.Request, body []byte) string
	// Claim takes the key, or finds its holder.
	Claim func(m *Memory, life Life, id, asked string) (rec *Record, mine bool)
	// Context returns the handler's context.
	Context func(life Life, r *http.Request) (context.Context, context.CancelFunc)
	// Capture returns the handler's writer.
	Capture func(*Answer, http.ResponseWriter) http.ResponseWriter
	// Keeps reports whether an answer is recorded; otherwise nothing happened, and the key is free again.
	Keeps func(*Answer) bool
	// Settle ends the claim.
	Settle func(d *Door, r *http.Request, rec *Record, got *Answer)
	// Orphaned reports whether the holder of the claim is gone for good.
	Orphaned func(*Record) bool
	// First, Replay, Mismatch, InFlight, Duplicate and Refuse write the answers to callers.
	First     func(http.ResponseWriter, *Answer)
	Replay    func(http.ResponseWriter, *Answer)
	Mismatch  func(d *Door, w http.ResponseWriter, r *http.Request, rec *Record)
	InFlight  func(d *Door, w http.ResponseWriter, rec *Record)
	Duplicate func(d *Door, w http.ResponseWriter)
	Refuse    func(w http.ResponseWriter, status int, detail string)
}

// Correct returns decisions that keep every promise.
func Correct() Decisions {
	return Decisions{
		Methods:     []string{http.MethodPost, http.MethodPatch},
		Wait:        patience,
		Retention:   24 * time.Hour,
		Key:         ReadKey,
		Scope:       func(r *http.Request) string { return r.Header.Get("Authorization") },
		Read:        ReadBody,
		Fingerprint: Fingerprint,
		Claim:       (*Memory).Claim,
		Context:     outliveClient,
		Capture:     func(a *Answer, _ http.ResponseWriter) http.ResponseWriter { return a },
		Keeps:       keepsSettled,
		Settle:      (*Door).settle,
		Orphaned:    (*Record).orphaned,
		First:       func(w http.ResponseWriter, a *Answer) { a.writeTo(w, false) },
		Replay:      func(w http.ResponseWriter, a *Answer) { a.writeTo(w, true) },
		Mismatch: func(d *Door, w http.ResponseWriter, _ *http.Request, _ *Record) {
			d.Refuse(w, http.StatusUnprocessableEntity, "key-reused: this key was sent with another request")
		},
		InFlight: func(d *Door, w http.ResponseWriter, _ *Record) {
			d.comeAgain(w, "in-flight: the first one is still running")
		},
		Duplicate: func(d *Door, w http.ResponseWriter) {
			d.Refuse(w, http.StatusConflict, "duplicate: this was done already")
		},
		Refuse: refuse,
	}
}

const (
	// patience bounds how long a duplicate waits.
	patience = 5 * time.Second
	// maxRun bounds a handler whose client is gone.
	maxRun = 30 * time.Second
	// maxKey is the longest key, in bytes.
	maxKey = 255
)

// The mistakes in a key.
var (
	errNoKey   = errors.New("key-missing: send an Idempotency-Key")
	errLongKey = errors.New("key-too-long: a key has 255 characters at most")
	errBadKey  = errors.New("key-invalid: a key is one line of visible characters")
)

// ReadKey reads the header Idempotency-Key: a String of RFC 8941, or the raw text.
func ReadKey(r *http.Request) (string, error) {
	lines := r.Header.Values("Idempotency-Key")
	switch len(lines) {
	case 0:
		return "", errNoKey
	case 1:
		return parseKey(lines[0])
	}
	return "", errBadKey
}

func parseKey(line string) (string, error) {
	key := strings.Trim(line, " \t")
	if strings.HasPrefix(key, `"`) {
		var ok bool
		if key, ok = unquote(key); !ok {
			return "", errBadKey
		}
	} else if strings.ContainsAny(key, `",; `) {
		return "", errBadKey
	}
	if len(key) > maxKey {
		return "", errLongKey
	}
	if key == "" || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "", errBadKey
	}
	return key, nil
}

// unquote reads "abc", which parameters may follow.
func unquote(text string) (string, bool) {
	var key strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			i++
			if i == len(text) || text[i] != '\\' && text[i] != '"' {
				return "", false
			}
			key.WriteByte(text[i])
		case '"':
			rest := text[i+1:]
			return key.String(), rest == "" || rest[0] == ';' && len(rest) > 1
		default:
			key.WriteByte(c)
		}
	}
	return "", false
}

// ReadBody reads the whole body, up to its bound.
func ReadBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBody))
	if err != nil {
		return nil, errors.New("body-incomplete: the body did not arrive, or is too long")
	}
	return body, nil
}

func readable(body []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(body)) }

// Fingerprint returns a hash of the whole request: method, path, query, content type and body. The boundary of a
// multipart form does not count: browsers make a new one each time.
func Fingerprint(r *http.Request, body []byte) string {
	media := r.Header.Get("Content-Type")
	if kind, parameters, err := mime.ParseMediaType(media); err == nil && parameters["boundary"] != "" {
		media, body = kind, []byte(strings.ReplaceAll(string(body), parameters["boundary"], ""))
	}
	return digest(r.Method, r.URL.Path, r.URL.RawQuery, media, r.Header.Get("Content-Encoding"), string(body))
}

func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		one := sha256.Sum256([]byte(part))
		_, _ = sum.Write(one[:]) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// outliveClient lets a handler outlive its client, but not maxRun, and not the process.
func outliveClient(life Life, r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), maxRun)
	go func() {
		select {
		case <-life:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// keepsSettled keeps final answers: not failures, and not refusals that another attempt, with credentials or later, may
// overcome.
func keepsSettled(a *Answer) bool {
	switch a.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return a.Status < http.StatusInternalServerError
}

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Link", "<"+policyPath+`>; rel="describedby"`)
	answerProblem(w, status, detail)
}
