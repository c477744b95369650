package formguard_test

import (
	"net/http"
	"testing"

	"github.com/semel-dev/semel/internal/formguard"
)

func TestIsForm(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]bool{
		urlencoded:                         true,
		urlencoded + ";charset=UTF-8":      true,
		"Multipart/Form-Data; boundary=XX": true,
		"multipart/form-data":              true,
		"text/plain; charset=x":            true,
		" text/plain ":                     true,
		"text/plain, text/html":            true,
		"":                                 false,
		"text/html":                        false,
		"multipart/mixed; boundary=XX":     false,
		"application/json":                 false,
		"text/plainer":                     false,
	} {
		if got := formguard.IsForm(contentType); got != want {
			t.Errorf("%q: got %v, want %v", contentType, got, want)
		}
	}
}

func TestFormType(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		types, codings []string
		want           string
	}{
		"form":             {[]string{urlencoded}, nil, urlencoded},
		"identity":         {[]string{urlencoded}, []string{"identity", ""}, urlencoded},
		"compressed":       {[]string{urlencoded}, []string{"gzip"}, ""},
		"compressed twice": {[]string{urlencoded}, []string{"identity", "identity, br"}, ""},
		"no type":          {nil, nil, ""},
		"two types":        {[]string{urlencoded, urlencoded}, nil, ""},
		"no form":          {[]string{"application/json"}, nil, ""},
	} {
		header := http.Header{"Content-Type": x.types, "Content-Encoding": x.codings}
		if got := formguard.FormType(header); got != x.want {
			t.Errorf("%s: got %q, want %q", name, got, x.want)
		}
	}
}

func TestOptionsChooseFieldAndIgnored(t *testing.T) {
	t.Parallel()
	body := "key=sm1.a&_semel=sm1.b&csrf_token=1&when=2"
	got := scan(t, urlencoded, "", body, &formguard.BodyOptions{Field: "key", Ignore: []string{"when"}})
	if len(got.Tokens) != 1 || got.Tokens[0] != "sm1.a" || got.Length != int64(len("_semel=sm1.b&csrf_token=1&when=2")) {
		t.Errorf("got %q, %d", got.Tokens, got.Length)
	}
	none := &formguard.BodyOptions{Field: "key", Ignore: []string{}}
	if want := scan(t, urlencoded, "", "_semel=sm1.b&csrf_token=1", none).Digest; got.Digest != want {
		t.Error("the names to ignore are not these")
	}
	fields := readFields(t)
	for _, name := range fields.Ignored {
		for contentType, form := range map[string]func(value string) string{
			urlencoded: func(value string) string { return "a=1&" + name + "=" + value },
			mixed:      func(value string) string { return part("a", "1") + part(name, value) + end },
		} {
			one, two := scan(t, contentType, "", form("x"), nil), scan(t, contentType, "", form("y/+="), nil)
			if one.Digest != two.Digest {
				t.Errorf("%s: %s counts", contentType, name)
			}
			if want := scan(t, contentType, "", form("x"), none).Digest; one.Digest == want {
				t.Errorf("%s: %s does not count when nothing is ignored", contentType, name)
			}
		}
	}
	for _, name := range fields.Content {
		for contentType, form := range map[string]func(value string) string{
			urlencoded: func(value string) string { return name + "=" + value },
			mixed:      func(value string) string { return part(name, value) + end },
		} {
			if scan(t, contentType, "", form("x"), nil).Digest == scan(t, contentType, "", form("y"), nil).Digest {
				t.Errorf("%s: %s does not count", contentType, name)
			}
		}
	}
}
