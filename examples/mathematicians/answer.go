package mathematicians

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/semel-dev/semel/ids"
)

const (
	maxTextBytes = 200
	retryAfter   = "30" // seconds

	// problemPrefix begins the type of every problem. It distinguishes a refusal by
	// this server from one by a proxy in front of it.
	problemPrefix = "urn:semel:mathematicians:"
)

// answer is the result of a handler.
type answer struct {
	status   int
	location string
	etag     string
	body     any
}

// link is a target in _links.
type link struct {
	Href string `json:"href"`
}

// problem is an RFC 9457 problem.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// malformedError is a fault that the caller can fix; its text is for the
// caller.
type malformedError string

// Error implements error.
func (e malformedError) Error() string { return string(e) }

var errMediaType = errors.New("send application/json")

// refusals is the one table from errors to statuses and types of problems.
func refusals() []struct {
	err    error
	status int
	name   string
} {
	return []struct {
		err    error
		status int
		name   string
	}{
		{errNotFound, http.StatusNotFound, "not-found"},
		{errNotHandedOut, http.StatusNotFound, "not-handed-out"},
		{errOtherBody, http.StatusUnprocessableEntity, "id-used"},
		{errNoAuthor, http.StatusUnprocessableEntity, "no-author"},
		{errStale, http.StatusPreconditionFailed, "stale"},
		{errMediaType, http.StatusUnsupportedMediaType, "media-type"},
		{errTooManyUnused, http.StatusServiceUnavailable, "too-many-unused"},
	}
}

// problemOf returns the part of an error that the caller may see.
func problemOf(err error) problem {
	made := func(status int, name, detail string) problem {
		return problem{Type: problemPrefix + name, Title: http.StatusText(status), Status: status, Detail: detail}
	}
	for _, row := range refusals() {
		if errors.Is(err, row.err) {
			return made(row.status, row.name, row.err.Error())
		}
	}
	if wrong, ok := errors.AsType[malformedError](err); ok {
		return made(http.StatusBadRequest, "malformed", wrong.Error())
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return made(http.StatusRequestEntityTooLarge, "too-large", fmt.Sprintf("a body has at most %d bytes", maxBodyBytes))
	}
	return made(http.StatusInternalServerError, "internal", "something went wrong here; send it again, with the same id")
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		s.log.ErrorContext(r.Context(), "request failed", slog.String("route", r.Pattern), slog.Any("error", err))
		w.Header().Set("Retry-After", retryAfter)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	s.write(w, r, answer{status: p.Status, body: p})
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, a answer) {
	text, err := json.Marshal(a.body)
	if err != nil {
		s.log.ErrorContext(r.Context(), "cannot encode the answer", slog.String("route", r.Pattern), slog.Any("error", err))
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	header := w.Header()
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	if a.location != "" {
		header.Set("Location", a.location)
	}
	if a.etag != "" {
		header.Set("ETag", a.etag)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone, and asks again
}

// readJSON reads exactly one JSON object without unknown fields into target.
func readJSON(r *http.Request, target any) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return errMediaType
	}
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil && errors.As(err, new(*http.MaxBytesError)):
		return err
	case err != nil:
		return malformedError("the body ended early")
	case !utf8.Valid(text):
		return malformedError("the body is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		if field, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			return malformedError("there is a field that is not known: " + field)
		}
		return malformedError("the body is not the JSON object that is described")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return malformedError("there is more after the JSON object")
	}
	return nil
}

// readUnique reads a UUID of any version.
func readUnique(field, text string) (ids.UUID, error) {
	id, err := ids.ParseUUID(text)
	if err != nil {
		return ids.UUID{}, malformedError(field + ": is not a UUID")
	}
	return id, nil
}

// checkText refuses names and titles that could not be shown.
func checkText(field, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return malformedError(field + ": is missing")
	case len(text) > maxTextBytes:
		return malformedError(fmt.Sprintf("%s: has more than %d bytes", field, maxTextBytes))
	case strings.TrimSpace(text) != text:
		return malformedError(field + ": begins or ends with a blank")
	case strings.ContainsFunc(text, func(c rune) bool { return unicode.IsControl(c) || c == utf8.RuneError }):
		return malformedError(field + ": holds a character that cannot be shown")
	}
	return nil
}
