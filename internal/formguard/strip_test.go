package formguard_test

import (
	"bytes"
	"mime/multipart"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/semel-dev/semel/internal/formguard"
)

// field is a pair as a form has it; upload makes it a file.
type field struct {
	name, value string
	upload      bool
}

// maker writes forms in one of the three types.
type maker struct {
	contentType string
	write       func(fields []field) string
}

func makers() []maker {
	return []maker{
		{urlencoded, func(fields []field) string {
			pairs := make([]string, len(fields))
			for i, f := range fields {
				pairs[i] = url.Values{f.name: {f.value}}.Encode()
			}
			return strings.Join(pairs, "&")
		}},
		{textPlain, func(fields []field) string {
			var b strings.Builder
			for _, f := range fields {
				b.WriteString(f.name + "=" + f.value + "\r\n")
			}
			return b.String()
		}},
		{"multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxk", func(fields []field) string {
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			_ = w.SetBoundary("----WebKitFormBoundary7MA4YWxk")
			for _, f := range fields {
				if f.upload {
					part, _ := w.CreateFormFile(f.name, f.name+".bin")
					_, _ = part.Write([]byte(f.value))
					continue
				}
				_ = w.WriteField(f.name, f.value)
			}
			_ = w.Close()
			// This writer begins an empty form with a line end; browsers do not.
			return strings.TrimPrefix(b.String(), "\r\n")
		}},
	}
}

func fieldOf() *rapid.Generator[field] {
	return rapid.Custom(func(t *rapid.T) field {
		return field{
			name:   rapid.SampledFrom([]string{"a", "b b", `q"uo\te`, "csrf_token", "_token", "é", "_semel", "x[]"}).Draw(t, "name"),
			value:  rapid.OneOf(rapid.SampledFrom([]string{"", "sm1", "--", "a&_semel=1;c", "--XX\r\n"}), rapid.StringOfN(rapid.Rune(), 0, 40, -1)).Draw(t, "value"),
			upload: rapid.Bool().Draw(t, "upload"),
		}
	})
}

// Token fields anywhere in a form leave no trace: the rest is byte by byte the
// form without them, and has its digest.
func TestStripUndoesInsertion(t *testing.T) {
	t.Parallel()
	for _, m := range makers() {
		t.Run(m.contentType, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				fields := rapid.SliceOfN(fieldOf(), 0, 6).Draw(t, "fields")
				if m.contentType == textPlain { // values there cannot say where they end
					for i := range fields {
						fields[i].value = strings.NewReplacer("\r", "", "\n", "").Replace(fields[i].value)
					}
				}
				bare := m.write(fields)
				full := slices.Clone(fields)
				count := rapid.IntRange(1, 4).Draw(t, "tokens")
				for range count {
					at := rapid.IntRange(0, len(full)).Draw(t, "at")
					full = slices.Insert(full, at, field{name: "_semel", value: "sm1." + rapid.StringMatching(`[A-Za-z0-9_-]{0,60}`).Draw(t, "token")})
				}
				body := m.write(full)
				if got := strip(t, m.contentType, "", body); got != bare {
					t.Fatalf("%q\nstripped is %q\nwant        %q", body, got, bare)
				}
				with, without := scan(t, m.contentType, "", body, nil), scan(t, m.contentType, "", bare, nil)
				if len(with.Tokens) != count || without.Found {
					t.Errorf("found %q, and without them %q, want %d and none", with.Tokens, without.Tokens, count)
				}
				if with.Length != int64(len(bare)) || without.Length != int64(len(bare)) {
					t.Errorf("lengths %d and %d, want %d", with.Length, without.Length, len(bare))
				}
				if with.Digest != without.Digest {
					t.Error("the digest counts a token field")
				}
			})
		})
	}
}

// Forms of other fields, values, order or kind have other digests; what a
// rendering changes, and the boundary, do not count.
func TestDigestCountsWhatAPersonSends(t *testing.T) {
	t.Parallel()
	isChanging := func(f field) bool { return formguard.Changes(f.name) }
	for _, m := range makers() {
		t.Run(m.contentType, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				gen := rapid.SliceOfN(fieldOf(), 0, 4)
				one, two := gen.Draw(t, "one"), gen.Draw(t, "two")
				if rapid.Bool().Draw(t, "same") {
					two = slices.Clone(one)
					if len(two) > 0 {
						i := rapid.IntRange(0, len(two)-1).Draw(t, "change")
						two[i].value = rapid.StringOfN(rapid.Rune(), 0, 5, -1).Draw(t, "to")
					}
				}
				none := &formguard.BodyOptions{Ignore: []string{}}
				x, y := m.write(one), m.write(two)
				if got, want := scan(t, m.contentType, "", x, none).Digest == scan(t, m.contentType, "", y, none).Digest, x == y; got != want {
					t.Fatalf("%q and %q: same digest = %v, want %v", x, y, got, want)
				}
				if scan(t, m.contentType, "", x, nil).Digest != scan(t, m.contentType, "", y, nil).Digest {
					return
				}
				rest1, rest2 := slices.DeleteFunc(one, isChanging), slices.DeleteFunc(two, isChanging)
				if m.write(rest1) != m.write(rest2) {
					t.Fatalf("%q and %q have one digest", x, y)
				}
			})
		})
	}
}
