package protected

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-dev/semel/examples/invoices/tallybook"
	"github.com/semel-dev/semel/semelhttp"
)

//go:embed sql/form_secret.sql
var formSecretSQL string

// newFormTokens signs tokens with the secret of the database.
func (a *App) newFormTokens(route string, lifetime time.Duration) (*semelhttp.FormTokens, error) {
	var secret []byte
	if err := a.db.QueryRowContext(context.Background(), formSecretSQL).Scan(&secret); err != nil {
		return nil, fmt.Errorf("read the secret of forms: %w", err)
	}
	return semelhttp.NewFormTokens([][]byte{secret}, semelhttp.FormTokenOptions{
		Form: route, Lifetime: lifetime, Senders: senders, Verified: tallybook.WithSession,
	})
}

// mint returns the token for a form that is shown to the sender of r alone.
func mint(tokens *semelhttp.FormTokens, r *http.Request) string {
	if tallybook.Fresh(r) { // this browser may take no cookies
		return tokens.MintGuest(tallybook.Session(r))
	}
	return tokens.Mint(tallybook.Session(r))
}

// senders returns the sessions that may have sent the form. A browser that takes no
// cookies sends none; its token leads back to the session of its page. A page of
// another site cannot have it send one.
func senders(r *http.Request, guests []string) []string {
	if len(r.Header["Cookie"]) == 0 && new(http.CrossOriginProtection).Check(r) == nil {
		return guests
	}
	return []string{tallybook.Session(r)}
}
