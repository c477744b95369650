package webhook_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/webhook"
)

// The example of the specification's own libraries, and the same body signed by the first key of RFC 8032 with
// OpenSSL.
const (
	whsec     = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	whpk      = "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
	whsk      = "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
	exampleID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	body      = `{"test": 2432232314}`
	macOf     = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	edOf      = "v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw=="
	signedAt  = 1614265330
)

// standard is the example's header; changes are names and values, "" removes a name.
func standard(changes ...string) http.Header {
	h := http.Header{"Webhook-Id": {exampleID}, "Webhook-Timestamp": {fmt.Sprint(signedAt)}, "Webhook-Signature": {macOf}}
	for i := 0; i < len(changes); i += 2 {
		h.Del(changes[i])
		if changes[i+1] != "" {
			h.Set(changes[i], changes[i+1])
		}
	}
	return h
}

func clock(seconds int64) func() time.Time { return func() time.Time { return time.Unix(seconds, 0) } }

const (
	stripeSecret = "whsec_DaLRHCRs35vEXqOE8uTEAXGLGUOnyaFf"
	stripeBody   = `{"id":"evt_1","object":"event"}`
	stripeAt     = 1492774577
	stripeOf     = "v1=a6ffa30490fb4deaa7ac4fef3ac11dbbf02144713d3611271256474fc06bdb59"
	githubSecret = "It's a Secret to Every" + "body"
	githubOf     = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
)

// TestVerify: published vectors, and what tampering, repeating and cutting does to them.
func TestVerify(t *testing.T) {
	t.Parallel()
	const wrong = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	ofStandard := &webhook.VerifierOptions{Secrets: []string{whsec}, Now: clock(signedAt)}
	ofPublic := &webhook.VerifierOptions{Secrets: []string{whpk}, Now: clock(signedAt)}
	rotated := &webhook.VerifierOptions{Secrets: []string{"whsec_" + strings.Repeat("AAAA", 8), whpk, whsec}, Now: clock(signedAt)}
	at := func(seconds int64) *webhook.VerifierOptions {
		return &webhook.VerifierOptions{Secrets: []string{whsec}, Now: clock(seconds)}
	}
	ofStripe := &webhook.VerifierOptions{Scheme: webhook.Stripe, Secrets: []string{stripeSecret}, Now: clock(stripeAt)}
	stripe := func(value string) http.Header { return http.Header{"Stripe-Signature": {value}} }
	stripeTime := fmt.Sprintf("t=%d,", stripeAt)
	ofGitHub := &webhook.VerifierOptions{Scheme: webhook.GitHub, Secrets: []string{githubSecret}}
	github := func(value string) http.Header { return http.Header{"X-Hub-Signature-256": {value}} }
	twice := standard()
	twice.Add("Webhook-Id", "another")
	for _, c := range []struct {
		name   string
		o      *webhook.VerifierOptions
		header http.Header
		body   string
		want   error
	}{
		{"standard", ofStandard, standard(), body, nil},
		{"secret without prefix", &webhook.VerifierOptions{Secrets: []string{whsec[6:]}, Now: clock(signedAt)}, standard(), body, nil},
		{"one of several signatures", ofStandard, standard("Webhook-Signature", wrong+" v2,x "+edOf+" "+macOf), body, nil},
		{"one of several secrets", rotated, standard(), body, nil},
		{"ed25519", ofPublic, standard("Webhook-Signature", edOf), body, nil},
		{"ed25519 among several", rotated, standard("Webhook-Signature", wrong+" "+edOf), body, nil},
		{"ed25519 of another body", ofPublic, standard("Webhook-Signature", edOf), body + " ", webhook.ErrSignature},
		{"the MAC's secret is not a public key", ofPublic, standard(), body, webhook.ErrSignature},
		{"tampered body", ofStandard, standard(), body + " ", webhook.ErrSignature},
		{"no body", ofStandard, standard(), "", webhook.ErrSignature},
		{"tampered id", ofStandard, standard("Webhook-Id", exampleID+"x"), body, webhook.ErrSignature},
		{"tampered time", ofStandard, standard("Webhook-Timestamp", "1614265331"), body, webhook.ErrSignature},
		{"wrong signature", ofStandard, standard("Webhook-Signature", wrong), body, webhook.ErrSignature},
		{"signature in part", ofStandard, standard("Webhook-Signature", "v1,"), body, webhook.ErrSignature},
		{"another version", ofStandard, standard("Webhook-Signature", "v2"+macOf[2:]), body, webhook.ErrSignature},
		{"no id", ofStandard, standard("Webhook-Id", ""), body, webhook.ErrSignature},
		{"no time", ofStandard, standard("Webhook-Timestamp", ""), body, webhook.ErrSignature},
		{"no signature", ofStandard, standard("Webhook-Signature", ""), body, webhook.ErrSignature},
		{"two ids", ofStandard, twice, body, webhook.ErrMalformed},
		{"an id that could end elsewhere", ofStandard, standard("Webhook-Id", "a.1614265330"), body, webhook.ErrMalformed},
		{"a time that is signed in another spelling", ofStandard, standard("Webhook-Timestamp", "01614265330"), body, webhook.ErrMalformed},
		{"a time with a sign", ofStandard, standard("Webhook-Timestamp", "+1614265330"), body, webhook.ErrMalformed},
		{"an invalid time", ofStandard, standard("Webhook-Timestamp", "2021-02-25T15:02:10Z"), body, webhook.ErrMalformed},
		{"a time that overflows", ofStandard, standard("Webhook-Timestamp", "9223372036854775807"), body, webhook.ErrMalformed},
		{"a thousand signatures", ofStandard, standard("Webhook-Signature", strings.Repeat(wrong+" ", 1000)), body, webhook.ErrMalformed},
		{"five minutes old", at(signedAt + 300), standard(), body, nil},
		{"older", at(signedAt + 301), standard(), body, webhook.ErrTimestamp},
		{"five minutes ahead", at(signedAt - 300), standard(), body, nil},
		{"further ahead", at(signedAt - 301), standard(), body, webhook.ErrTimestamp},
		{"an hour allowed", &webhook.VerifierOptions{Secrets: []string{whsec}, Tolerance: time.Hour, Now: clock(signedAt + 3600)}, standard(), body, nil},
		{"stripe", ofStripe, stripe(stripeTime + stripeOf), stripeBody, nil},
		{"stripe, rotated", ofStripe, stripe(stripeTime + "v1=" + strings.Repeat("0", 64) + "," + stripeOf + ",v0=x"), stripeBody, nil},
		{"stripe, tampered", ofStripe, stripe(stripeTime + stripeOf), stripeBody + "\n", webhook.ErrSignature},
		{"stripe, another time", ofStripe, stripe("t=1492774578," + stripeOf), stripeBody, webhook.ErrSignature},
		{"stripe, an old scheme alone", ofStripe, stripe(stripeTime + "v0" + stripeOf[2:]), stripeBody, webhook.ErrSignature},
		{"stripe, no time", ofStripe, stripe(stripeOf), stripeBody, webhook.ErrMalformed},
		{"stripe, two times", ofStripe, stripe(stripeTime + stripeTime + stripeOf), stripeBody, webhook.ErrMalformed},
		{"stripe, old", &webhook.VerifierOptions{Scheme: webhook.Stripe, Secrets: []string{stripeSecret}}, stripe(stripeTime + stripeOf), stripeBody, webhook.ErrTimestamp},
		{"stripe, nothing", ofStripe, http.Header{}, stripeBody, webhook.ErrSignature},
		{"github", ofGitHub, github(githubOf), "Hello, World!", nil},
		{"github, tampered", ofGitHub, github(githubOf), "Hello, World?", webhook.ErrSignature},
		{"github, cut", ofGitHub, github(githubOf[:70]), "Hello, World!", webhook.ErrSignature},
		{"github, SHA-1", ofGitHub, github("sha1=" + githubOf[7:]), "Hello, World!", webhook.ErrMalformed},
		{"github, nothing", ofGitHub, http.Header{}, "Hello, World!", webhook.ErrSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := must.Get(webhook.NewVerifier(c.o))
			if err := v.Verify(c.header, []byte(c.body)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

// TestNewVerifierRefuses: what cannot work is refused when it is made, without the secret in the error.
func TestNewVerifierRefuses(t *testing.T) {
	t.Parallel()
	good := []string{whsec}
	for want, o := range map[string]*webhook.VerifierOptions{
		"Secrets is empty":                     nil,
		"Secrets is empty (":                   {},
		"more than 8":                          {Secrets: slices.Repeat(good, 9)},
		"secret 2: the webhook secret is not":  {Secrets: []string{whsec, "whsec_tell-tale secret"}},
		"secret 1: the webhook secret has 6":   {Secrets: []string{"whsec_dGF0dGxl"}},
		"secret 1: the text after whpk_":       {Secrets: []string{"whpk_dGF0dGxl"}},
		"secret 1: the text after whsk_":       {Secrets: []string{"whsk_dGF0dGxl"}},
		"give the public key that belongs":     {Secrets: []string{whsk}},
		"secret 1: the webhook secret has 9 b": {Scheme: webhook.GitHub, Secrets: []string{"tell-tale"}},
		"does not exist: 3":                    {Scheme: 3, Secrets: good},
		"less than twice the Tolerance":        {Secrets: good, Tolerance: time.Hour, Retention: time.Hour},
		"Tolerance must be a second":           {Secrets: good, Tolerance: -1},
		"Retention must be a second":           {Scheme: webhook.GitHub, Secrets: good, Retention: time.Millisecond},
		"Event does not apply to Standard":     {Secrets: good, Event: "/id"},
		`Event "id" is neither`:                {Scheme: webhook.Stripe, Secrets: good, Event: "id"},
		"a lone ~ has no meaning":              {Scheme: webhook.Stripe, Secrets: good, Event: "/a~"},
	} {
		_, err := webhook.NewVerifier(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "tell-tale") || strings.Contains(err.Error(), "dGF0dGxl") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestNewVerifierRefusesKeysThatAnyoneSignsFor: under a point of small order, one signature that was made without a
// private key fits every eighth body or more.
func TestNewVerifierRefusesKeysThatAnyoneSignsFor(t *testing.T) {
	t.Parallel()
	ones := strings.Repeat("ff", 30)
	for _, low := range []string{
		"00" + strings.Repeat("00", 31), "01" + strings.Repeat("00", 31), "ec" + ones + "7f", "ed" + ones + "7f", "ee" + ones + "7f",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	} {
		for _, sign := range []byte{0, 0x80} {
			key := must.Get(hex.DecodeString(low))
			key[31] |= sign
			forged := make([]byte, ed25519.SignatureSize)
			forged[0] = 1 // R is the neutral element, S is 0
			fits := 0
			for i := range 256 {
				if ed25519.Verify(key, fmt.Append(nil, i), forged) {
					fits++
				}
			}
			if fits == 0 {
				t.Errorf("%x: the forged signature fits no body, so there is nothing to refuse", key)
			}
			_, err := webhook.NewVerifier(&webhook.VerifierOptions{Secrets: []string{"whpk_" + base64.StdEncoding.EncodeToString(key)}})
			if err == nil || !strings.Contains(err.Error(), "let anyone sign") {
				t.Errorf("%x: got %v after %d forgeries", key, err, fits)
			}
		}
	}
}

// TestShortRetentionIsWarnedAbout: an event that its sender may deliver again after it was forgotten.
func TestShortRetentionIsWarnedAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		retention, redelivery time.Duration
		warns                 bool
	}{
		{0, 0, false},
		{72 * time.Hour, 0, true},
		{72 * time.Hour, 72 * time.Hour, false},
		{0, 30 * 24 * time.Hour, true},
	} {
		var log bytes.Buffer
		_ = must.Get(webhook.NewVerifier(&webhook.VerifierOptions{
			Secrets: []string{whsec}, Retention: c.retention, Redelivery: c.redelivery, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}))
		if warned := strings.Contains(log.String(), "raise the retention"); warned != c.warns {
			t.Errorf("%v, %v: warned %v, want %v: %s", c.retention, c.redelivery, warned, c.warns, &log)
		}
	}
}

// TestVerifierDoesNotPrint: its secrets do not reach a log.
func TestVerifierDoesNotPrint(t *testing.T) {
	t.Parallel()
	for _, o := range []*webhook.VerifierOptions{{Secrets: []string{whsec}}, {Scheme: webhook.GitHub, Secrets: []string{githubSecret}}} {
		v := must.Get(webhook.NewVerifier(o))
		for _, text := range []string{fmt.Sprint(v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v)} {
			if len(text) > 70 {
				t.Errorf("it prints %s", text)
			}
		}
	}
}
