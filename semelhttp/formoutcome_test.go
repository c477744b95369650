package semelhttp_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/formguard"
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
	const line = "; Path=/; SameSite=Lax"
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

// TestFormTokenOutcomeCookie: the guard script ends a draft by the outcome of its token, which it knows by the token's id.
// Without one, a form that is opened anew after the answer would get the answer to the last one. The place where an
// image button is pressed does not count.
func TestFormTokenOutcomeCookie(t *testing.T) {
	t.Parallel()
	tokens, err := semelhttp.NewFormTokens([][]byte{[]byte("32 random bytes, the same always")}, semelhttp.FormTokenOptions{
		Form: "order", Lifetime: time.Hour,
		Senders: func(*http.Request, []string) []string { return []string{"ann"} },
	})
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t, doorOptions{Options: semelhttp.Options{Key: tokens, Fingerprint: semelhttp.FingerprintOptions{Func: tokens.Fingerprint}}})
	server := d.serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSeeOther) })
	ann, again, bob := tokens.Mint("ann"), tokens.Mint("ann"), tokens.Mint("bob")
	const image = "&_semel=sm1.image.go&go.x="
	for _, c := range []struct{ token, button, want string }{
		{ann, "", "executed:303"},
		{ann, "", "replayed:303"},
		{again, image + "1&go.y=2", "executed:303"},
		{again, image + "3&go.y=2", "replayed:303"},
		{bob, "", "refused:409"},
		{"no token", "", ""},
	} {
		r := newAsk(t, server.URL, "a=1&_semel="+c.token+c.button, "Content-Type", "application/x-www-form-urlencoded")
		got := strings.Join(sendAsk(t, server, r).header["Set-Cookie"], "\n")
		if c.want == "" {
			if got != "" {
				t.Errorf("%s: got %q, want no cookie", c.token, got)
			}
			continue
		}
		id, _ := formguard.NameOf(c.token)
		if want := "semel_outcome=" + id + ":" + c.want + "; Path=/; SameSite=Lax"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
