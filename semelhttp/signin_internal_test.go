package semelhttp

import (
	"net/url"
	"testing"

	"github.com/semel-dev/semel/internal/must"
)

// TestSignInVectors: which redirects mean that nothing happened (promise 3).
func TestSignInVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			From, Location string
			SignIn         bool `json:"sign_in"`
		}
	}
	readVectors(t, "signin.json", &file)
	if len(file.Cases) < 60 {
		t.Fatalf("signin.json has %d cases only", len(file.Cases))
	}
	for _, c := range file.Cases {
		from := must.Get(url.Parse(c.From))
		if got := leadsToSignIn(from, c.Location); got != c.SignIn {
			t.Errorf("%s, redirected to %q: got %v, want %v", c.From, c.Location, got, c.SignIn)
		}
	}
}
