// Package envelope is the form in which package semel keeps the results of Do: JSON with a version, so that a later release can
// change it.
package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

const version = 1

type envelope[T any] struct {
	Version int     `json:"semel"`
	Value   *T      `json:"value,omitempty"`
	Error   *string `json:"error,omitempty"`
}

// Of returns a result as it is kept. The error is that of encoding/json.
func Of[T any](v T) ([]byte, error) {
	return json.Marshal(envelope[T]{Version: version, Value: &v})
}

// Keep encodes a result, and returns it as every later caller reads it: unchanged if JSON
// gives it back, else read from the record. An error means that it does not survive
// encoding/json.
func Keep[T any](v T) (outcome []byte, read T, err error) {
	if outcome, err = Of(v); err != nil || exactly[T](outcome) {
		return outcome, v, err
	}
	read, _, err = Read[T](outcome)
	return outcome, read, err
}

// Encode is Keep for a result that is kept without a version.
func Encode[T any](v T) (text []byte, read T, err error) {
	if text, err = json.Marshal(v); err != nil || exactly[T](text) {
		return text, v, err
	}
	err = Decode(text, &read)
	return text, read, err
}

// exactly reports whether text, read as a T, is the value that was written.
func exactly[T any](text []byte) bool {
	const replaced = `\ufffd` // what encoding/json writes for bytes that are not UTF-8
	return shapeOf(reflect.TypeFor[T]()).exact && !bytes.Contains(text, []byte(replaced))
}

// OfError returns the message of an error that is the answer, as it is kept.
func OfError(message string) ([]byte, error) {
	return json.Marshal(envelope[struct{}]{Version: version, Error: &message})
}

// Read returns a kept result, or the message of a kept error.
func Read[T any](outcome []byte) (v T, message *string, err error) {
	var e envelope[T]
	if err := Decode(outcome, &e); err != nil {
		return v, nil, fmt.Errorf("decode the recorded result: %w", err)
	}
	switch {
	case e.Version > version:
		return v, nil, fmt.Errorf("the recorded result has version %d, this program knows up to %d: a newer one recorded it, upgrade this one",
			e.Version, version)
	case e.Version != version:
		return v, nil, fmt.Errorf("the recorded result has version %d, this program knows %d (was it recorded through another door?)",
			e.Version, version)
	case e.Error == nil && e.Value != nil: // else an error, or null
		v = *e.Value
	}
	return v, e.Error, nil
}
