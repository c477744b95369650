package gateway

import "github.com/semel-dev/semel/internal/adminapi"

// AdminToken lets one operator use the admin API and the console. It holds a hash: the token itself is not kept.
type AdminToken = adminapi.Token

// NewAdminToken returns the token of an operator, whose name goes into the audit trail and into logs. The secret has 32 to
// 512 characters of visible ASCII and should be random; the operator sends it as a bearer token. With readOnly it settles
// nothing. An error never carries the secret.
func NewAdminToken(name, secret string, readOnly bool) (AdminToken, error) {
	return adminapi.NewToken(name, secret, readOnly)
}
