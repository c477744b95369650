package semelhttp

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	mimemultipart "mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/semel-dev/semel"
)

// maxFieldBytes is the longest form field, name and value together, that is
// looked at; of a longer value of a multipart form the digest counts.
const maxFieldBytes = 64 << 10

// FromFormField takes the key from a field of a form, URL-encoded or multipart.
// A body that is no form has none; a field that stands twice is refused.
//
// A page that its browser keeps shows the same hidden field again. Where the
// same token with other contents should be a new request instead of a refusal,
// use [Derived] over the whole body.
func FromFormField(name string) KeySource { return formSource(name) }

type formSource string

// Key implements [KeySource].
func (s formSource) Key(r *http.Request, body *Body) (string, bool, error) {
	var key string
	found := false
	err := eachField(r, body, func(name, value string) error {
		if name != string(s) {
			return nil
		}
		if found {
			return fmt.Errorf("%w: the field %s stands twice", semel.ErrKeyInvalid, name)
		}
		key, found = value, true
		return nil
	})
	return key, found, err
}

// String implements [KeySource].
func (s formSource) String() string { return "form field " + string(s) }

// eachField calls visit for every field of a form, in constant memory. A body
// that is no form has none.
func eachField(r *http.Request, body *Body, visit func(name, value string) error) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (media != "application/x-www-form-urlencoded" && media != "multipart/form-data") {
		return nil //nolint:nilerr // no form, no fields.
	}
	from, err := body.Open()
	if err != nil {
		return err
	}
	in := &errorReader{from: from}
	if media == "multipart/form-data" {
		err = eachPart(mimemultipart.NewReader(in, params["boundary"]), visit)
	} else {
		err = eachPair(bufio.NewReaderSize(in, maxFieldBytes), visit)
	}
	if in.err != nil {
		return in.err
	}
	return err
}

func eachPair(in *bufio.Reader, visit func(name, value string) error) error {
	for {
		pair, err := in.ReadSlice('&')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: a form field is longer than %d bytes", semel.ErrKeyInvalid, maxFieldBytes)
		}
		text := strings.TrimSuffix(string(pair), "&")
		rawName, rawValue, _ := strings.Cut(text, "=")
		name, nameErr := url.QueryUnescape(rawName)
		value, valueErr := url.QueryUnescape(rawValue)
		if nameErr != nil || valueErr != nil {
			return fmt.Errorf("%w: the form, which should hold it, is not well encoded", semel.ErrKeyInvalid)
		}
		if text != "" {
			if err := visit(name, value); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the end of the form.
		}
	}
}

func eachPart(in *mimemultipart.Reader, visit func(name, value string) error) error {
	for {
		part, err := in.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: the form, which should hold it, is not well formed", semel.ErrKeyInvalid)
		}
		value, err := partValue(part)
		if err != nil {
			return fmt.Errorf("%w: the form, which should hold it, is cut off", semel.ErrKeyInvalid)
		}
		if err := visit(part.FormName(), value); err != nil {
			return err
		}
	}
}

// partValue returns the content of a part, or the digest of a long one.
func partValue(part io.Reader) (string, error) {
	value, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil || len(value) <= maxFieldBytes {
		return string(value), err
	}
	hash := sha256.New()
	hash.Write(value)
	if _, err := io.Copy(hash, part); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}
