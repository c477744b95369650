package rules_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/rules"
)

// TestReleasedWhen: which answers a rule releases (promise 3).
func TestReleasedWhen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, path string
		status     int
		location   string
		want       bool
	}{
		{"{location: /anmelden}", "/orders", 302, "/anmelden", true},
		{"{location: /anmelden}", "/orders", 302, "/anmelden/?next=/orders", true},
		{"{location: /anmelden}", "/orders", 302, "http://10.0.0.7:9000/anmelden#x", true},
		{"{location: /anmelden}", "/orders", 302, "anmelden", true},
		{"{location: /anmelden}", "/orders", 302, "/orders/5", false},
		{"{location: /anmelden}", "/orders", 302, "", false},
		{"{location: /anmelden}", "/orders", 201, "/anmelden", false},
		{"{location: /anmelden}", "/orders", 302, "%zz", false},
		{`{location: ["/{lang}/anmelden", "/konto/"]}`, "/orders", 303, "/de/anmelden", true},
		{`{location: ["/{lang}/anmelden", "/konto/"]}`, "/orders", 303, "/konto/neu", true},
		{`{location: ["/{lang}/anmelden", "/konto/"]}`, "/orders", 303, "/de/orders", false},
		{"{status: 409}", "/orders", 409, "", true},
		{"{status: 409}", "/orders", 302, "/login", false},
		{"{status: [302, 403], location: /anmelden}", "/orders", 303, "/anmelden", false},
		{"none", "/orders", 302, "/login", false},
	} {
		file, err := rules.Parse("rules.yaml", []byte("version: 1\nroutes:\n  - name: a\n    match: {path: /orders}\n    released_when: "+tt.rule+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		if tt.location != "" {
			header.Set("Location", tt.location)
		}
		if got := file.Routes[0].ReleasedWhen.Holds(tt.path, tt.status, header); got != tt.want {
			t.Errorf("%s, %d to %q: got %v, want %v", tt.rule, tt.status, tt.location, got, tt.want)
		}
	}
}
