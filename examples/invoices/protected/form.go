package protected

import (
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/formguard"
	"github.com/semel-dev/semel/semelhttp"
)

//go:embed sql/form_secret.sql
var formSecretSQL string

// formKey names the intent of a form: the token in its hidden field together
// with what was typed. So a double click, a reload and a resend are one intent,
// and a form that is sent again with other contents is another.
type formKey struct {
	minter   *formguard.Minter
	route    string
	lifetime time.Duration
}

// newFormKey signs tokens with the secret of the database.
func (a *App) newFormKey(route string, lifetime time.Duration) (*formKey, error) {
	var secret []byte
	if err := a.db.QueryRowContext(context.Background(), formSecretSQL).Scan(&secret); err != nil {
		return nil, fmt.Errorf("read the secret of forms: %w", err)
	}
	minter, err := formguard.NewMinter([][]byte{secret}, nil)
	return &formKey{minter: minter, route: route, lifetime: lifetime}, err
}

// token is for a form that is shown to whoever sent r, and nobody else.
func (k *formKey) token(r *http.Request) string {
	return k.minter.Mint(k.route, tallybook.Session(r))
}

// Key implements [semelhttp.KeySource].
func (k *formKey) Key(r *http.Request, body *semelhttp.Body) (string, bool, error) {
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
		return "", false, fmt.Errorf("%w: it has none", semelhttp.ErrFormStale)
	}
	token, _, err := k.minter.Verify(form.Tokens[0], k.route, k.lifetime, tallybook.Session(r))
	if err != nil {
		return "", false, fmt.Errorf("%w: %w", semelhttp.ErrFormStale, err)
	}
	return token.Name() + ":" + base64.RawURLEncoding.EncodeToString(form.Digest[:]), true, nil
}

// String implements [semelhttp.KeySource].
func (k *formKey) String() string { return "form field " + formguard.DefaultField }

// sameForm is the fingerprint of a form: its key says already what was typed.
func sameForm(*http.Request, *semelhttp.Body) (semel.Fingerprint, error) {
	return semel.FingerprintOf("form"), nil
}
