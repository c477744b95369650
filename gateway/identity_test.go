package gateway_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/gateway"
)

// statements is an upstream whose answers are about the caller's session, and which says who may see them.
func statements(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "statement of "+r.Header.Get("Cookie")+r.Header.Get("Authorization"))
}

// TestSessionsCountTogether (promise 5): a session cookie that an attacker plants in a caller's browser next to the application's
// own does not make two callers one.
func TestSessionsCountTogether(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	d := open(t, upstream(t, statements), func(c *gateway.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
		c.Rules = parse(t, `version: 1
routes:
  - {name: guessed, match: {path: "/guessed/{n}"}, key: {derive: {window: 60s}}}
  - {name: named, match: {path: "/named/{n}"}, key: {derive: {window: 60s}}, scope: {cookie: app}}
`)
	})
	post := func(path, cookie string) reply { return d.send(t, http.MethodPost, path, "amount=1", "Cookie", cookie) }
	for i, own := range []string{
		"laravel_session", "session", "PHPSESSID", "wikidb_session", "DokuWiki", "MinifluxSessionID", "directus_session_token", "sessionid",
	} {
		path := fmt.Sprintf("/guessed/%d", i)
		const planted = "sessionid=EVIL; "
		wantWord(t, own, post(path, planted+own+"=VICTIM"), "executed")
		got := post(path, planted+own+"=ATTACKER")
		if got.word() != "executed" || strings.Contains(got.body, "VICTIM") {
			t.Errorf("%s with a planted session: the attacker got %q %s", own, got.word(), got.body)
		}
		wantWord(t, own+" in another place", post(path, own+"=VICTIM; theme=dark; "+planted), map[bool]string{true: "executed", false: "replayed"}[own == "sessionid"])
		wantWord(t, own+" alone", post(path, own+"=VICTIM"), "executed")
		wantWord(t, "another's alone", post(path, own+"=ATTACKER"), "executed")
	}
	wantWord(t, "named", post("/named/1", "app=a; sessionid=1; PHPSESSID=1"), "executed")
	wantWord(t, "named, other sessions", post("/named/1", "app=a; sessionid=2; PHPSESSID=2"), "replayed")
	if got := lines.String(); strings.Count(got, "several session cookies, which count together: a caller who gets one more is another caller") != 1 || !strings.Contains(got, "route=guessed") {
		t.Errorf("the log warns not once of the route that has no scope:\n%s", got)
	}
}

// TestPlantedSession (promise 5, threat 33): a token that was made for a planted session is worth nothing in a browser that has
// another session as well, so no attacker gets the answer to its form.
func TestPlantedSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ attacker, victim string }{
		"with one that changes":       {"sessionid=EVIL", "sessionid=EVIL; laravel_session=VICTIM"},
		"with another's that changes": {"sessionid=EVIL; laravel_session=ATTACKER", "sessionid=EVIL; laravel_session=VICTIM"},
		"with a steady one":           {"sessionid=EVIL", "sessionid=EVIL; PHPSESSID=VICTIM"},
		"under the same name":         {"sessionid=EVIL", "sessionid=EVIL; sessionid=VICTIM"},
		"behind the same name":        {"sessionid=EVIL", "sessionid=VICTIM; sessionid=EVIL"},
		"with credentials":            {"sessionid=EVIL", "sessionid=EVIL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			d := openShop(t, s, "", nil)
			body := "_semel=" + tokensIn(d.person(t).get("/new", "Cookie", c.attacker).body)[0] + "&a=1"
			header := []string{"Cookie", c.victim + "; semel_visitor=" + strings.Repeat("V", 22)}
			if name == "with credentials" {
				header = append(header, "Authorization", "Basic dmljdGlt")
			}
			if got := d.person(t).post("/invoices", body, header...); got.status != http.StatusConflict || !strings.Contains(got.body, "form-stale") {
				t.Errorf("the victim's browser: got %d %s", got.status, got.body)
			}
			s.wantPosts(t, 0)
		})
	}
}

// TestCredentialsOfOneRequest (promises 3 and 5): where a scheme's credentials are made anew for each request, a repetition is
// recognised by the name in them and not carried out again; its answer is not shown, because a stranger can
// send the name. Where nothing stays the same, nothing is carried out.
func TestCredentialsOfOneRequest(t *testing.T) {
	t.Parallel()
	d := openRuled(t, upstream(t, statements), "version: 1\nroutes: [{name: may, match: {path: /may}, authorize: {get: /session}}]\n")
	post := func(path, authorization string, header ...string) reply {
		return d.send(t, http.MethodPost, path, "x", append(header, "Authorization", authorization, "Idempotency-Key", "k")...)
	}
	for name, c := range map[string]struct{ first, again, forged, other string }{
		"Digest": {
			`Digest username="a", realm="r", nonce="n", uri="/x", nc=00000001, cnonce="c1", response="aa"`, `DIGEST response="bb",username="a",realm="r", nc=00000002`,
			`Digest username="a", realm="r"`, `Digest username="b", realm="r", nc=00000001`,
		},
		"SigV4": {
			"AWS4-HMAC-SHA256 Credential=AKIA/20261128/eu/execute-api/aws4_request, SignedHeaders=host;x-amz-date, Signature=11",
			"AWS4-HMAC-SHA256 Credential=AKIA/20261129/eu/execute-api/aws4_request,SignedHeaders=host;x-amz-date,Signature=22",
			"AWS4-HMAC-SHA256 Credential=AKIA", "AWS4-HMAC-SHA256 Credential=AKIB/20261128/eu, Signature=11",
		},
		"OAuth 1": {
			`OAuth oauth_consumer_key="k", oauth_token="t", oauth_timestamp="1", oauth_nonce="a", oauth_signature="s1"`,
			`OAuth oauth_nonce="b", oauth_consumer_key="k", oauth_token="t", oauth_timestamp="2", oauth_signature="s2"`,
			`OAuth oauth_consumer_key="k", oauth_token="t"`, `OAuth oauth_consumer_key="k", oauth_token="u"`,
		},
		"Hawk": {`Hawk id="dh37", ts="1", nonce="a", mac="6R4"`, `hawk id="dh37", ts="2", nonce="b", mac="7R4"`, `Hawk id="dh37"`, `Hawk id="dh\"37"`},
	} {
		path := "/" + strings.ReplaceAll(name, " ", "")
		wantWord(t, name, post(path, c.first), "executed")
		for _, again := range []string{c.again, c.first, c.forged} {
			got := post(path, again)
			check(t, name+": "+again, got, http.StatusConflict, "duplicate")
			if strings.Contains(got.body, "statement") {
				t.Errorf("%s: the answer is shown to a caller that sends the name: %s", name, got.body)
			}
		}
		wantWord(t, name+" of another", post(path, c.other), "executed")
	}
	for _, nothing := range []string{"Negotiate YIIB", "NTLM TlRM", `Digest nc=1, username=""`, `Digest username="a", username="b"`, "PrivateToken token=abc"} {
		got := post("/nothing", nothing)
		check(t, nothing, got, http.StatusBadRequest, "key-invalid")
		if !strings.Contains(got.body, "change with every request, and nothing else says who sends it") || !strings.Contains(got.body, "scope") {
			t.Errorf("%s: the refusal does not say why, and what to do: %s", nothing, got.body)
		}
	}
	check(t, "two lines", post("/nothing", "Bearer a", "Authorization", `Digest username="a"`), http.StatusBadRequest, "key-invalid")
	wantWord(t, "Negotiate with a session", post("/session", "Negotiate YII1", "Cookie", "sessionid=1"), "executed")
	check(t, "Negotiate with a session again", post("/session", "Negotiate YII2", "Cookie", "sessionid=1"), http.StatusConflict, "duplicate")
	wantWord(t, "with authorize", post("/may", `Hawk id="a", ts="1"`), "executed")
	wantWord(t, "with authorize again", post("/may", `Hawk id="a", ts="2"`), "replayed")
	wantWord(t, "a token", post("/token", "Bearer abc"), "executed")
	wantWord(t, "a token in other letters", post("/token", "bearer abc"), "replayed")
	wantWord(t, "another token", post("/token", "Bearer ABC"), "executed")
}

// TestUnknownScheme: of a scheme of which nothing is known the whole header counts, and the log says once what that may mean.
func TestUnknownScheme(t *testing.T) {
	t.Parallel()
	var lines safeBuffer
	d := open(t, upstream(t, statements), func(c *gateway.Config) { c.Logger = slog.New(slog.NewTextHandler(&lines, nil)) })
	for _, c := range []struct{ credentials, word string }{
		{"Secret s3cr3t-1", "executed"}, {"Secret s3cr3t-1", "replayed"}, {"Secret s3cr3t-2", "executed"}, {"s3cr3t-3", "executed"}, {"s3cr3t-3", "replayed"},
	} {
		wantWord(t, c.credentials, d.send(t, http.MethodPost, "/", "x", "Authorization", c.credentials, "Idempotency-Key", "k"), c.word)
	}
	if got := lines.String(); strings.Count(got, "scheme of Authorization is not known") != 1 || strings.Contains(got, "s3cr3t") {
		t.Errorf("the log:\n%s", got)
	}
}

// TestForwardedTenant (promise 5): where a trusted proxy was asked for another host than the gateway, the two hosts' callers are apart.
func TestForwardedTenant(t *testing.T) {
	t.Parallel()
	d, _ := seamDoor(t, "X-Account")
	for _, word := range []string{"executed", "replayed"} {
		for _, host := range []string{"a.test", "b.test"} {
			wantWord(t, host, d.sendFrom(t, trustedPeer, "POST /scope/1", keyLine, "X-Forwarded-Host: "+host), word)
		}
	}
	for _, asked := range []string{
		"Forwarded: for=192.0.2.1;host=c.test", `Forwarded: for=192.0.2.1, for=192.0.2.2 ; Host="C2.test"`,
		"Forwarded: host=a.test, host=c.test", "X-Forwarded-Prefix: /c", "X-Forwarded-Prefix: /d",
	} {
		wantWord(t, asked, d.sendFrom(t, trustedPeer, "POST /scope/1", keyLine, asked), "executed")
	}
	wantWord(t, "another hop", d.sendFrom(t, trustedPeer, "POST /scope/1", keyLine, `Forwarded: for="[2001:db8::1]";proto=https;host=c.test`), "replayed")
	wantWord(t, "both headers", d.sendFrom(t, trustedPeer, "POST /scope/1", keyLine, "X-Forwarded-Host: a.test", "Forwarded: host=a.test"), "replayed")
	wantWord(t, "a stranger", d.sendFrom(t, strangePeer, "POST /scope/1", keyLine, "X-Forwarded-Host: a.test"), "executed")
	wantWord(t, "the gateway's own host", d.sendFrom(t, trustedPeer, "POST /scope/1", keyLine, "X-Forwarded-Host: H.test"), "replayed")
	wantWord(t, "no prefix", d.sendFrom(t, trustedPeer, "POST /scope/1", keyLine, "X-Forwarded-Prefix: /", "Forwarded: host=h.test"), "replayed")
}
