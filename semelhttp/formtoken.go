package semelhttp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/formguard"
)

// FormTokenField is the name of the hidden field that holds a form's token.
const FormTokenField = formguard.DefaultField

// FormTokenOptions describe the forms of one kind.
type FormTokenOptions struct {
	// Form names the form: a token for one form is not valid for another.
	Form string
	// Lifetime limits how long after its page was made a form can be sent. Required,
	// and not longer than the retention of its records.
	Lifetime time.Duration
	// Senders returns the readers who may have sent the request, the most certain
	// first. guests are the readers to whom the token itself leads back; return them
	// only for a request that identifies no reader and that no other site's page can
	// have sent. Required.
	Senders func(r *http.Request, guests []string) []string
	// Verified is called with the reader for whom the token was made, before the key is
	// used. Default: not called.
	Verified func(r *http.Request, reader string)
}

// FormTokens makes tokens for the forms that an application renders, and is the
// [KeySource] of the requests that these forms send: the key is the token's id with a
// digest of the other fields, so a double click, a reload and a resend are one intent,
// and the same form sent with other contents is another. A template needs one line, which
// the scripts in web recognise as it is:
//
//	<input type="hidden" name="_semel" value="{{.Token}}">
//
// Put another one, with the value sm1.image.NAME, right before an image button of that
// name, so that where it is pressed does not count.
//
// Behind the gateway, which puts tokens into pages on its own, an application needs none.
// It is safe for concurrent use.
type FormTokens struct {
	minter  *formguard.Minter
	options FormTokenOptions
}

// NewFormTokens returns tokens that are made with the first of the secrets and verified
// with all of them: 1 to 16, each of 16 bytes or more.
func NewFormTokens(secrets [][]byte, o FormTokenOptions) (*FormTokens, error) {
	minter, err := formguard.NewMinter(secrets, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("semelhttp: form tokens: %w", err)
	case o.Lifetime <= 0:
		return nil, errors.New("semelhttp: form tokens: no lifetime is given (set one that is not longer than the retention)")
	case o.Senders == nil:
		return nil, errors.New("semelhttp: form tokens: Senders is nil (return the session of the request, for example)")
	}
	return &FormTokens{minter: minter, options: o}, nil
}

// Mint returns the token for a form that is shown to the reader.
func (t *FormTokens) Mint(reader string) string { return t.minter.Mint(t.options.Form, reader) }

// NewGuest returns a name for a reader without a session, usually to be set as a cookie.
func (t *FormTokens) NewGuest() string { return t.minter.NewGuest() }

// MintGuest returns the token for a form in the first page of a guest. It leads back to
// the guest's name, so a browser that takes no cookies is the same reader as one that
// does.
func (t *FormTokens) MintGuest(guest string) string {
	return string(t.minter.PressFor(guest, t.options.Form, guest).Append(nil))
}

// Key implements [KeySource]. The error wraps [ErrFormStale] for a form without a valid
// token.
func (t *FormTokens) Key(r *http.Request, body *Body) (string, bool, error) {
	content, err := body.Open()
	if err != nil {
		return "", false, err
	}
	form, err := formguard.Scan(content, formguard.FormType(r.Header), r.URL.RawQuery, nil)
	if errors.Is(err, formguard.ErrAmbiguous) {
		return "", false, fmt.Errorf("%w: %w", semel.ErrKeyInvalid, err)
	}
	if err != nil {
		return "", false, err
	}
	if len(form.Tokens) == 0 {
		return "", false, fmt.Errorf("%w: it has none", ErrFormStale)
	}
	readers := t.options.Senders(r, t.minter.GuestsOf(form.Tokens[0]))
	token, by, err := t.minter.Verify(form.Tokens[0], t.options.Form, t.options.Lifetime, readers...)
	if err != nil {
		id, _ := formguard.NameOf(form.Tokens[0])
		return "", false, &staleTokenError{id, err}
	}
	if t.options.Verified != nil {
		t.options.Verified(r, readers[by])
	}
	return token.Name() + ":" + base64.RawURLEncoding.EncodeToString(form.Digest[:]), true, nil
}

// Fingerprint is the Func of [FingerprintOptions] that belongs to these keys: what was
// typed is in the key already.
func (t *FormTokens) Fingerprint(*http.Request, *Body) (semel.Fingerprint, error) {
	return semel.FingerprintOf("form"), nil
}

// String implements [KeySource].
func (t *FormTokens) String() string { return "form field " + FormTokenField }

// staleTokenError is an [ErrFormStale] about the token with this id.
type staleTokenError struct {
	id  string
	err error
}

func (e *staleTokenError) Error() string   { return ErrFormStale.Error() + ": " + e.err.Error() }
func (e *staleTokenError) Unwrap() []error { return []error{ErrFormStale, e.err} }
