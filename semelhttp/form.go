package semelhttp

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/formfields"
)

// FromFormField takes the key from a field of a form, URL-encoded or multipart.
// A body of another type has none; a field that occurs twice is refused, and so
// are a field whose name some applications take for the same, in other letter case
// or like "token[]", and a form that is compressed, whose fields cannot be read.
//
// A page that its browser keeps shows the same hidden field again. Where the
// same token with other contents should be a new request instead of a refusal,
// use [Derived] over the whole body.
//
// Answers to a key that is a UUID, or anything else of 1 to 64 letters, digits, "-"
// and "_", set the cookie semel_outcome, by which the guard script of package web
// knows the outcome, and the next page says that a repetition was one. An
// application that sets it keeps its own.
func FromFormField(name string) KeySource { return &formSource{name, formfields.NamesOf(name)} }

type formSource struct {
	name  string
	names formfields.Names // the one
}

// Key implements [KeySource].
func (s *formSource) Key(r *http.Request, body *Body) (string, bool, error) {
	var key string
	found := false
	err := eachField(r, body, func(f formfields.Field) error {
		switch i, err := findField(&s.names, f.Name); {
		case i < 0:
			return err
		case found:
			return fmt.Errorf("%w: the field %s occurs twice", semel.ErrKeyInvalid, f.Name)
		case f.Digested:
			return fmt.Errorf("%w: the field %s is too long", semel.ErrKeyInvalid, f.Name)
		}
		key, found = f.Value, true
		return nil
	})
	return key, found, err
}

// String implements [KeySource].
func (s *formSource) String() string { return "form field " + s.name }

// findField returns the place of the name, or -1 for another one. That is an error if some applications read it as one of these.
func findField(names *formfields.Names, name string) (int, error) {
	place, alike := names.Find(name)
	if place >= 0 || len(alike) == 0 {
		return place, nil
	}
	return -1, fmt.Errorf("%w: %w", semel.ErrKeyInvalid, names.NameError(name, alike[0]))
}

// eachField calls visit for every field of a form, in constant memory. A body of another type has none.
func eachField(r *http.Request, body *Body, visit func(formfields.Field) error) error {
	err := formfields.Each(r, body, visit)
	if unclear, ok := errors.AsType[*formfields.Error](err); ok {
		return fmt.Errorf("%w: %w", semel.ErrKeyInvalid, unclear)
	}
	return callerGone(r, err)
}
