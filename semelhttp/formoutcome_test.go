package semelhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/semelhttp"
)

// TestFormOutcomeCookie: pages of the browser learn the outcome of a form whose
// field holds the key: executed, replayed, refused. Other answers set no cookie.
func TestFormOutcomeCookie(t *testing.T) {
	t.Parallel()
	d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: semelhttp.FromFormField("semel_key")}})
	server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.FormValue("a") == "own":
			w.Header().Set("Set-Cookie", "semel_outcome=mine:executed:204; Path=/")
		case r.FormValue("a") == "early":
			_, _ = io.WriteString(w, "a page")
			http.NewResponseController(w).Flush() // the answer shows it
		}
		w.WriteHeader(http.StatusSeeOther)
	})
	const line = "; Path=/; Max-Age=3600; SameSite=Lax"
	for _, c := range []struct{ body, cookie, want string }{
		{"a=1&semel_key=k1", "", "semel_outcome=k1:executed:303" + line},
		{"a=1&semel_key=k1", "semel_outcome=k0:seen:200/k1:executed:303", "semel_outcome=k1:replayed:303/k0:seen:200" + line},
		{"a=2&semel_key=k1", "semel_outcome=<b>", "semel_outcome=k1:refused:422" + line},
		{"a=1", "", ""},
		{"a=1&semel_key=a+key", "", ""},
		{"a=1&semel_key=" + strings.Repeat("k", 65), "", ""},
		{"a=own&semel_key=k2", "", "semel_outcome=mine:executed:204; Path=/"},
		{"a=early&semel_key=k3", "", "semel_outcome=k3:executed:200" + line},
	} {
		r := newAsk(t, server.URL, c.body, "Content-Type", "application/x-www-form-urlencoded", "Cookie", c.cookie)
		if got := sendAsk(t, server, r); strings.Join(got.header["Set-Cookie"], "\n") != c.want {
			t.Errorf("%s: got %d %q, want %q", c.body, got.status, got.header["Set-Cookie"], c.want)
		}
	}
	header := newDoor(t, doorOptions{}).serve(t, func(http.ResponseWriter, *http.Request) {})
	if got := ask(t, header, "k1", "x"); got.header["Set-Cookie"] != nil {
		t.Errorf("a key in the header: got %q", got.header["Set-Cookie"])
	}
}
