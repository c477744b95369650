package gateway

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
)

// applications read paths in ways that were seen in the wild.
func applications() map[string]func(string) string {
	unescape := func(p string) string {
		if text, err := url.PathUnescape(p); err == nil {
			return text
		}
		return p
	}
	cut := func(p string) string {
		segments := strings.Split(p, "/")
		for i := range segments {
			segments[i], _, _ = strings.Cut(segments[i], ";")
		}
		return strings.Join(segments, "/")
	}
	slashes := func(p string) string { return strings.ReplaceAll(p, `\`, "/") }
	end := func(p string) string { p, _, _ = strings.Cut(p, "\x00"); return p }
	return map[string]func(string) string{
		"WSGI":             unescape,
		"servlet":          func(p string) string { return unescape(cut(p)) },
		"decodes first":    func(p string) string { return cut(unescape(p)) },
		"keeps parameters": func(p string) string { return path.Clean(unescape(p)) },
		"Windows":          func(p string) string { return slashes(unescape(p)) },
		"decodes twice":    func(p string) string { return unescape(unescape(p)) },
		"in C":             func(p string) string { return end(unescape(p)) },
		"raw":              func(p string) string { return p },
	}
}

// FuzzReadings: every application's reading is among ours, whose number is bounded, and none leaves the root.
func FuzzReadings(f *testing.F) {
	for _, p := range []string{"/pay", "/a/..;x/pay", "/a%2F..%2Fpay;b%2Fc", "/%252e%252e%5Cpay%00;x", "/%c0%af%e0%80%af%f0%80%80%af%3F%23", "//%2f/./;/", "/é%CC%81"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, escaped string) {
		u, err := url.ParseRequestURI(escaped)
		if err != nil || u.Scheme != "" || u.Host != "" || len(escaped) > maxReadingBytes {
			return
		}
		escaped = u.EscapedPath()
		all, few := readings(escaped, false)
		if len(all) > maxReadings {
			t.Fatalf("%q has %d readings, more than %d", escaped, len(all), maxReadings)
		}
		if size := len(strings.Join(all, "")); size > maxReadingsBytes+len(all) { // a slash may be put in front of each
			t.Fatalf("%q has readings of %d bytes, more than %d", escaped, size, maxReadingsBytes)
		}
		if !few { // it is refused
			return
		}
		for _, p := range all {
			if !strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..") {
				t.Fatalf("%q is read as %q", escaped, p)
			}
		}
		for name, read := range applications() {
			if want := cleaned(read(escaped), false); !slices.Contains(all, want) {
				t.Fatalf("%s reads %q in %q, which is not among %q", name, want, escaped, all)
			}
		}
		plain, _ := plainTexts(all)
		if size := len(strings.Join(plain, "")); size > maxReadingsBytes {
			t.Fatalf("%q is folded to %d bytes, more than %d", escaped, size, maxReadingsBytes)
		}
		for i, p := range plain {
			if want := plainText(all[i]); p != want {
				t.Fatalf("%q is folded to %q by its segments, and to %q at once", all[i], p, want)
			}
		}
		if oneReading(escaped) && (len(all) > 1 || plainText(all[0]) != all[0]) {
			t.Fatalf("%q has the readings %q", escaped, all)
		}
	})
}
