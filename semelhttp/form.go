package semelhttp

import (
	"bufio"
	"bytes"
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
	"github.com/semel-dev/semel/internal/jsonsearch"
)

const (
	// maxFieldBytes is the longest form field, name and value together, that is
	// looked at; of a longer value the digest counts.
	maxFieldBytes = 64 << 10
	maxFields     = 64 << 10 // of a form that the key is looked for in; frameworks read a few thousand
	digestPrefix  = "sha256:"
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
func FromFormField(name string) KeySource { return &formSource{name, fieldNamesOf(name)} }

type formSource struct {
	name  string
	names fieldNames // the one
}

// Key implements [KeySource].
func (s *formSource) Key(r *http.Request, body *Body) (string, bool, error) {
	var key string
	found := false
	err := eachField(r, body, func(f formField) error {
		switch i, err := s.names.find(f.name); {
		case i < 0:
			return err
		case found:
			return fmt.Errorf("%w: the field %s occurs twice", semel.ErrKeyInvalid, f.name)
		case f.digested:
			return fmt.Errorf("%w: the field %s is too long", semel.ErrKeyInvalid, f.name)
		}
		key, found = f.value, true
		return nil
	})
	return key, found, err
}

// String implements [KeySource].
func (s *formSource) String() string { return "form field " + s.name }

// formField is one field of a form.
type formField struct {
	name, value string
	digested    bool // value is the digest of a long one
}

// eachField calls visit for every field of a form, in constant memory. A body
// of another type has none; one with more than maxFields is refused.
func eachField(r *http.Request, body *Body, visit func(formField) error) error {
	contentType := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil { // applications also read a form whose parameters are malformed
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	multipart := media == "multipart/form-data" && params["boundary"] != ""
	if media != "application/x-www-form-urlencoded" && !multipart {
		return nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fmt.Errorf("%w: the form is encoded (%.40q), so its fields cannot be read: send it as it is", semel.ErrKeyInvalid, coding)
	}
	if err := jsonsearch.CheckCharset(params["charset"]); err != nil {
		return fmt.Errorf("%w: %w", semel.ErrKeyInvalid, err)
	}
	from, err := body.Open()
	if err != nil {
		return err
	}
	in := &errorReader{from: from, ctx: r.Context()}
	if multipart {
		err = eachPart(mimemultipart.NewReader(in, params["boundary"]), visit)
	} else {
		err = eachPair(bufio.NewReaderSize(in, maxFieldBytes), visit)
	}
	if in.err != nil {
		return callerGone(r, in.err)
	}
	return err
}

func eachPair(in *bufio.Reader, visit func(formField) error) error {
	for n := 1; ; n++ {
		pair, err := in.ReadSlice('&')
		text := strings.TrimSuffix(string(pair), "&")
		rawName, rawValue, _ := strings.Cut(text, "=")
		field := formField{digested: errors.Is(err, bufio.ErrBufferFull) && len(rawName) < len(text)}
		var nameErr, valueErr error
		if field.name, nameErr = url.QueryUnescape(rawName); field.digested {
			field.value, err = longValue(rawValue, in)
		} else {
			field.value, valueErr = url.QueryUnescape(rawValue)
		}
		switch {
		case n > maxFields:
			return errManyFields
		case err != nil && !errors.Is(err, io.EOF):
			return fmt.Errorf("%w: the name of a form field is longer than %d bytes", semel.ErrKeyInvalid, maxFieldBytes)
		case nameErr != nil || valueErr != nil:
			return fmt.Errorf("%w: the form, which should hold it, is not well encoded", semel.ErrKeyInvalid)
		}
		if text != "" {
			if err := visit(field); err != nil {
				return err
			}
		}
		if err != nil {
			return nil //nolint:nilerr // the end of the form.
		}
	}
}

var errManyFields = fmt.Errorf("%w: the form has more than %d fields, too many to find it among them (send fewer, or a JSON body)", semel.ErrKeyInvalid, maxFields)

// longValue returns the digest of a value that starts with these bytes, as it
// is encoded; err is io.EOF at the end of the form.
func longValue(start string, in *bufio.Reader) (digest string, err error) {
	hash := sha256.New()
	hash.Write([]byte(start))
	for {
		more, err := in.ReadSlice('&')
		hash.Write(bytes.TrimSuffix(more, []byte("&")))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return digestPrefix + hex.EncodeToString(hash.Sum(nil)), err
		}
	}
}

func eachPart(in *mimemultipart.Reader, visit func(formField) error) error {
	for n := 1; ; n++ {
		part, err := in.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: the form, which should hold it, is not well formed", semel.ErrKeyInvalid)
		case n > maxFields:
			return errManyFields
		}
		field := formField{name: part.FormName()}
		if field.value, field.digested, err = partValue(part); err != nil {
			return fmt.Errorf("%w: the form, which should hold it, is cut off", semel.ErrKeyInvalid)
		}
		if err := visit(field); err != nil {
			return err
		}
	}
}

// partValue returns the content of a part, or the digest of a long one.
func partValue(part io.Reader) (value string, digested bool, err error) {
	start, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil || len(start) <= maxFieldBytes {
		return string(start), false, err
	}
	hash := sha256.New()
	hash.Write(start)
	if _, err := io.Copy(hash, part); err != nil {
		return "", false, err
	}
	return digestPrefix + hex.EncodeToString(hash.Sum(nil)), true, nil
}
