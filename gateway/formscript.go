package gateway

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html"
	"net/http"
	"strings"

	"github.com/semel-dev/semel/web"
)

const (
	// formsPath is where the gateway answers for forms.
	formsPath = "/.well-known/semel/"
	guardName = "guard.js"
	// scriptPath is where the guard script lies.
	scriptPath = formsPath + guardName
)

// formScript is the guard script as pages name it.
type formScript struct {
	url     string
	hash    string // as in a policy, without quotes
	handler http.Handler
}

func (s *formScript) load() error {
	asset, ok := web.File(guardName)
	if !ok {
		return errors.New("gateway: the guard script is not embedded (run scripts/test-web --write)")
	}
	sum := sha256.Sum256(asset.Content)
	s.url = scriptPath + "?v=" + hex.EncodeToString(sum[:8])
	s.hash = "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	s.handler = http.StripPrefix(strings.TrimSuffix(formsPath, "/"), web.Handler())
	return nil
}

// markup is the script element for a page with this pass.
func (s *formScript) markup(pass *scriptPass, xhtml bool) string {
	if !pass.allowed {
		return ""
	}
	out := `<script defer`
	if xhtml {
		out += `=""`
	}
	out += ` src="` + s.url + `"`
	if pass.nonce != "" {
		out += ` nonce="` + html.EscapeString(pass.nonce) + `"`
	}
	if pass.integrity != "" {
		out += ` integrity="` + pass.integrity + `"`
	}
	return out + `></script>`
}
