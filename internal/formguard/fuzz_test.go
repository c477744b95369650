package formguard_test

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/semel-dev/semel/internal/formguard"
)

// FuzzVerify: of all texts only those that were minted verify, and none of
// them makes the minter fail otherwise.
func FuzzVerify(f *testing.F) {
	file := readVectors(f)
	for _, v := range file.Tokens {
		f.Add(v.Text, v.Route, strings.Join(v.Who, ""))
	}
	m := vectorMinter(f, &file, &clock{at: time.Unix(1_800_000_000, 0)})
	known := map[string]bool{}
	for _, v := range file.Tokens {
		if v.Want == "ok" {
			known[v.Text+"\x00"+v.Route+"\x00"+strings.Join(v.Who, "")] = true
		}
	}
	f.Fuzz(func(t *testing.T, text, route, who string) {
		token, by, err := m.Verify(text, route, 1<<62, who)
		switch {
		case err == nil && !known[text+"\x00"+route+"\x00"+who]:
			t.Fatalf("%q was not made for %q and %q", text, route, who)
		case err != nil && !errors.Is(err, formguard.ErrForeign) && !errors.Is(err, formguard.ErrMalformed):
			t.Fatalf("%q: %v", text, err)
		case err != nil && (by != -1 || token != (formguard.Token{})):
			t.Fatalf("%q: %v, and yet %d, %v", text, err, by, token)
		case len(text) != formguard.TokenLen && !errors.Is(err, formguard.ErrMalformed):
			t.Fatalf("%q: %v", text, err)
		}
		mine := m.Mint(route, who)
		if _, _, err := m.Verify(mine, route, time.Hour, who); err != nil {
			t.Fatalf("minted for %q and %q: %v", route, who, err)
		}
		if _, _, err := m.Verify(mine, route+"x", time.Hour, who); err == nil {
			t.Fatal("it verifies for another route")
		}
	})
}

// FuzzBody: Scan and Strip agree about any body; what is left has no token field,
// to Go's own readers neither; nothing depends on how the bytes arrive.
func FuzzBody(f *testing.F) {
	for _, x := range stripCases() {
		f.Add(x.contentType, x.body)
	}
	f.Fuzz(func(t *testing.T, contentType, body string) {
		got, err := formguard.Scan(strings.NewReader(body), contentType, "", nil)
		left, stripErr := io.ReadAll(formguard.Strip(iotest.HalfReader(strings.NewReader(body)), contentType, ""))
		if (err != nil) != (stripErr != nil) || (err != nil && !errors.Is(err, formguard.ErrAmbiguous)) {
			t.Fatalf("Scan: %v; Strip: %v", err, stripErr)
		}
		if err != nil {
			return
		}
		if int64(len(left)) != got.Length {
			t.Fatalf("%d bytes are left, Scan says %d", len(left), got.Length)
		}
		slow, err := formguard.Scan(iotest.OneByteReader(strings.NewReader(body)), contentType, "", nil)
		if err != nil || slow.Digest != got.Digest || slow.Length != got.Length || len(slow.Tokens) != len(got.Tokens) {
			t.Fatalf("byte by byte: %+v, %v; at once: %+v", slow, err, got)
		}
		again, err := formguard.Scan(bytes.NewReader(left), contentType, "", nil)
		if err != nil || again.Found || again.Digest != got.Digest || again.Length != got.Length {
			t.Fatalf("what is left, %q: %+v, %v; before: %+v", left, again, err, got)
		}
		if !got.Found && string(left) != body {
			t.Fatalf("no token was found, but something is gone: %q", left)
		}
		for _, value := range goReads(contentType, left) {
			if formguard.LooksLike(value) && len(value) <= formguard.MaxTokenField {
				t.Fatalf("Go reads the token %q in what is left: %q", value, left)
			}
		}
	})
}

// goReads returns the values of the field as Go's readers find them.
func goReads(contentType string, body []byte) (values []string) {
	media, params, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil:
		return nil
	case media == urlencoded:
		form, _ := url.ParseQuery(string(body)) // what it could read comes with the error
		return form["_semel"]
	case media != "multipart/form-data":
		return nil
	}
	r := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := r.NextPart()
		if err != nil {
			return values
		}
		if part.FormName() == "_semel" {
			value, _ := io.ReadAll(part)
			values = append(values, string(value))
		}
	}
}

// FuzzDigest: with nothing ignored, two bodies of one type have one digest if
// and only if the application gets the same bytes.
func FuzzDigest(f *testing.F) {
	cases := stripCases()
	for i, x := range cases {
		f.Add(x.contentType, x.body, cases[(i+1)%len(cases)].body)
		f.Add(x.contentType, x.body, x.want)
	}
	f.Fuzz(func(t *testing.T, contentType, one, two string) {
		none := &formguard.BodyOptions{Ignore: []string{}}
		a, errA := formguard.Scan(strings.NewReader(one), contentType, "", none)
		b, errB := formguard.Scan(strings.NewReader(two), contentType, "", none)
		if errA != nil || errB != nil {
			return
		}
		same := strip(t, contentType, "", one) == strip(t, contentType, "", two)
		if (a.Digest == b.Digest) != same {
			t.Fatalf("%q and %q: same digest = %v, same bytes = %v", one, two, !same, same)
		}
	})
}

// FuzzQuery: a query is stripped as a body is.
func FuzzQuery(f *testing.F) {
	f.Add("a=1&_semel=sm1.x&&%5fsemel=sm1.y")
	f.Fuzz(func(t *testing.T, query string) {
		got := formguard.StripQuery(query, "")
		if len(query) <= 8<<10 {
			if want := strip(t, urlencoded, "", query); got != want {
				t.Fatalf("%q: got %q, want %q", query, got, want)
			}
		}
		before, after := scan(t, urlencoded, query, "", nil), scan(t, urlencoded, got, "", nil)
		if before.Digest != after.Digest || after.Found || before.Found != (got != query) {
			t.Fatalf("%q: found %v, then %v, same digest = %v", query, before.Found, after.Found, before.Digest == after.Digest)
		}
	})
}
