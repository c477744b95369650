package forms

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
	guardName = "guard.js"
	// scriptPath is the path of the guard script.
	scriptPath = Path + guardName
)

// guardScript is the guard script as pages name it.
type guardScript struct {
	url     string
	hash    string // as in a policy, without quotes
	handler http.Handler
}

func (s *guardScript) load() error {
	asset, ok := web.File(guardName)
	if !ok {
		return errors.New("gateway: the guard script is not embedded (run scripts/test-web --write)")
	}
	sum := sha256.Sum256(asset.Content)
	s.url = scriptPath + "?v=" + hex.EncodeToString(sum[:8])
	s.hash = "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
	s.handler = http.StripPrefix(strings.TrimSuffix(Path, "/"), web.Handler())
	return nil
}

// markup is the script element for a page with this pass.
func (s *guardScript) markup(pass *elementPass) string {
	if !pass.allowed {
		return ""
	}
	out := `<script src="` + s.url + `"`
	if pass.nonce != "" {
		out += ` nonce="` + html.EscapeString(pass.nonce) + `"`
	}
	if pass.integrity != "" {
		out += ` integrity="` + pass.integrity + `"`
	}
	return out + `></script>`
}
