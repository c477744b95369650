package semelhttp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/jsonsearch"
)

// FromJSONPointer takes the key from a JSON body, at a JSON pointer (RFC 6901)
// such as "/id" or "/order/0/token". A string or a number is a key; null, and a
// body that is not JSON, has none. A member that occurs twice is refused,
// because readers disagree which one counts; so is a name on the way to it which
// some applications take for the member, in other letter case (encoding/json,
// System.Text.Json) or like "id[]" (PHP). [New] reports an invalid pointer.
func FromJSONPointer(pointer string) KeySource {
	path, err := parsePointer(pointer)
	return &pointerSource{pointer: pointer, path: path, err: err}
}

type pointerSource struct {
	pointer string
	path    []string
	err     error // what is wrong with the pointer
}

func (s *pointerSource) check() error { return s.err }

// Key implements [KeySource].
func (s *pointerSource) Key(r *http.Request, body *Body) (string, bool, error) {
	if s.err != nil {
		return "", false, s.err
	}
	found, err := searchJSON(r, body, s.path)
	if err != nil || found == nil {
		return "", false, err
	}
	name, ok, err := jsonsearch.Text(found[0])
	if err != nil {
		return "", true, fmt.Errorf("%w: the member %s %w", semel.ErrKeyInvalid, s.pointer, err)
	}
	return name, ok, nil
}

// String implements [KeySource].
func (s *pointerSource) String() string { return "JSON body, member " + s.pointer }

func parsePointer(pointer string) ([]string, error) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("semelhttp: JSON pointer %q must start with a slash", pointer)
	}
	for step := range strings.SplitSeq(pointer[1:], "/") {
		if strings.HasSuffix(strings.ReplaceAll(strings.ReplaceAll(step, "~0", ""), "~1", ""), "~") {
			return nil, fmt.Errorf("semelhttp: JSON pointer %q: a lone ~ has no meaning (write ~0)", pointer)
		}
	}
	return jsonsearch.Steps(pointer), nil
}

// searchJSON returns the values at the paths as they are written, nil for none; nil for a body that is not JSON. It reads
// the body once.
func searchJSON(r *http.Request, body *Body, paths ...[]string) ([]json.RawMessage, error) {
	found, err := jsonsearch.InBody(r, body, paths...)
	if unclear, ok := errors.AsType[*jsonsearch.Error](err); ok {
		return nil, fmt.Errorf("%w: %w", semel.ErrKeyInvalid, unclear)
	}
	return found, callerGone(r, err)
}

// callerGone marks an error of reading a body as the end of a caller that has gone.
func callerGone(r *http.Request, err error) error {
	if err != nil && r.Context().Err() != nil {
		return &semel.Error{Op: "read the key", Err: err}
	}
	return err
}
