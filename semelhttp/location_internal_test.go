package semelhttp

import "testing"

func TestPathOf(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"":                            "",
		"/invoices/77":                "/invoices/77",
		"77":                          "77",
		"/a//b?x":                     "/a//b",
		"//host/a":                    "/a",
		"https://u:p@host:1/a/b?c=d#": "/a/b",
		"https://host":                "",
		"https://host?x=/a":           "",
		"?only":                       "",
		"mailto:x@y":                  "mailto:x@y",
	} {
		if got := pathOf(location); got != want {
			t.Errorf("%q: got %q, want %q", location, got, want)
		}
	}
}
