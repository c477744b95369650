package adminapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// roomBesideAnswer bounds the rest of a request, in addition to an answer's
// body.
const roomBesideAnswer = 16 << 10

// maxBody bounds the body of a request.
func (a *API) maxBody() int64 { return int64(a.guard.Policy().MaxOutcomeBytes) + roomBesideAnswer }

// readObject reads the request's body, one JSON object, into targets. It
// refuses everything that could be read in two ways: unknown names, names that
// come twice or in another case, text after the object.
func readObject(r *http.Request, most int64, targets map[string]any) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || media != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) || r.Header.Get("Content-Encoding") != "" {
		return refuse(http.StatusUnsupportedMediaType, "not-json", "JSON is needed",
			"Nothing was done. Send the body as it is, with Content-Type: application/json.")
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, most))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return refuse(http.StatusRequestEntityTooLarge, "body-too-large", "The request is too large",
			"Nothing was done: the request is larger than any answer that is kept. Use \"no_body\", or \"semel records resolve\" with --body-file.")
	}
	switch {
	case err != nil:
		return badField("", "the body did not arrive completely")
	case !utf8.Valid(text):
		return badField("", "the body is not UTF-8 (give bytes as \"body_base64\")")
	case halfCharacter(text):
		return badField("", "the body holds half of a character, as \\u escapes (give bytes as \"body_base64\")")
	}
	return decodeObject(text, targets)
}

// halfCharacter reports whether an escape names a surrogate without its other
// half. Readers replace it, refuse it or keep it, and a verdict is final.
func halfCharacter(text []byte) bool {
	unit := func() (rune, bool) {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
		return rune(n), err == nil
	}
	for ; len(text) > 0; text = text[1:] {
		high, escaped := unit()
		switch {
		case text[0] == '\\' && !escaped:
			text = text[min(1, len(text)-1):] // an escaped byte begins no escape
		case escaped && utf16.IsSurrogate(high):
			text = text[6:]
			if low, ok := unit(); !ok || utf16.DecodeRune(high, low) == utf8.RuneError {
				return true
			}
			text = text[5:]
		}
	}
	return false
}

func decodeObject(text []byte, targets map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return errNoObject()
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		target := targets[name]
		switch {
		case err != nil || !ok:
			return errNoObject()
		case target == nil:
			return badField(name, "this call has no field %.40q", name)
		case seen[name]:
			return badField(name, "%q comes more than once", name)
		}
		seen[name] = true
		err = d.Decode(target)
		if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); wrong {
			return badField(name, "%q has a value of the wrong type", name)
		}
		if err != nil {
			return errNoObject()
		}
	}
	if _, err := d.Token(); err != nil {
		return errNoObject()
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badField("", "something follows the JSON object")
	}
	return nil
}

func errNoObject() error { return badField("", "the body is not one JSON object") }
