package webform_test

import (
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/webform"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	fields := []webform.Field{
		{Name: `a "b"`, Value: "1\n2\r\n3\r4 ~*å&="},
		{Name: "a", Value: ""},
		{Name: "f", Value: "\x00\n", File: &webform.File{Name: `x".txt`, Type: "text/plain"}},
		{Name: "g", File: &webform.File{}},
	}
	tests := map[string]struct{ coding, contentType, body string }{
		"pairs": {
			webform.URLEncoded, "application/x-www-form-urlencoded",
			"a+%22b%22=1%0D%0A2%0D%0A3%0D%0A4+%7E*%C3%A5%26%3D&a=&f=x%22.txt&g=",
		},
		"something else": {
			"image/png", "application/x-www-form-urlencoded",
			"a+%22b%22=1%0D%0A2%0D%0A3%0D%0A4+%7E*%C3%A5%26%3D&a=&f=x%22.txt&g=",
		},
		"text": {webform.PlainText, "text/plain", "a \"b\"=1\r\n2\r\n3\r\n4 ~*å&=\r\na=\r\nf=x\".txt\r\ng=\r\n"},
		"parts": {
			webform.Multipart, "multipart/form-data; boundary=xx",
			"--xx\r\nContent-Disposition: form-data; name=\"a %22b%22\"\r\n\r\n1\r\n2\r\n3\r\n4 ~*å&=\r\n" +
				"--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n" +
				"--xx\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x%22.txt\"\r\nContent-Type: text/plain\r\n\r\n\x00\n\r\n" +
				"--xx\r\nContent-Disposition: form-data; name=\"g\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n" +
				"--xx--\r\n",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contentType, body := webform.Encode(tt.coding, "xx", fields)
			if diff := cmp.Diff([]string{contentType, string(body)}, []string{tt.contentType, tt.body}); diff != "" {
				t.Errorf("body (-got +want):\n%s", diff)
			}
		})
	}
}

// TestEncodeIsReadByOthers: the standard library reads the encoded fields.
func TestEncodeIsReadByOthers(t *testing.T) {
	t.Parallel()
	fields := []webform.Field{{Name: "b", Value: "é &=+%~*"}, {Name: "a", Value: "2"}, {Name: "b", Value: ""}}
	_, body := webform.Encode(webform.URLEncoded, "", fields)
	got, err := url.ParseQuery(string(body))
	if diff := cmp.Diff(got, url.Values{"a": {"2"}, "b": {"é &=+%~*", ""}}); err != nil || diff != "" {
		t.Errorf("pairs: %v (-got +want):\n%s", err, diff)
	}
	contentType, body := webform.Encode(webform.Multipart, "yy", fields)
	_, parameters, _ := mime.ParseMediaType(contentType)
	form, err := multipart.NewReader(strings.NewReader(string(body)), parameters["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(form.Value, map[string][]string{"a": {"2"}, "b": {"é &=+%~*", ""}}); diff != "" {
		t.Errorf("parts (-got +want):\n%s", diff)
	}
}

func TestParseBody(t *testing.T) {
	t.Parallel()
	const parts = "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n{{n}}\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nx\r\n\r\n--b--\r\n"
	tests := map[string]struct {
		contentType, body string
		want              []webform.Field
		err               string
	}{
		"no type":    {"", "a=1&&b=%7B%7Bn}}+x&c", []webform.Field{{Name: "a", Value: "1"}, {Name: "b", Value: "{{n}} x"}, {Name: "c"}}, ""},
		"pairs":      {"application/x-www-form-urlencoded; charset=utf-8", "a=1", []webform.Field{{Name: "a", Value: "1"}}, ""},
		"no escape":  {"", "a=%zz", nil, "invalid URL escape"},
		"nothing":    {"", "", nil, ""},
		"parts":      {"multipart/form-data; boundary=b", parts, []webform.Field{{Name: "n", Value: "{{n}}"}, {Name: "f", Value: "x\r\n", File: &webform.File{Name: "a.txt", Type: "text/plain"}}}, ""},
		"cut parts":  {"multipart/form-data; boundary=b", parts[:52], nil, "not multipart/form-data"},
		"boundless":  {"multipart/form-data", parts, nil, "no boundary"},
		"JSON":       {"application/json", "{}", nil, "application/json is not a form"},
		"not a type": {"a b c", "", nil, "cannot be read"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := webform.ParseBody(tt.contentType, []byte(tt.body))
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("fields (-got +want):\n%s", diff)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got error %v, want %q", err, tt.err)
			}
		})
	}
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	page := []webform.Field{
		{Name: "token", Value: "page", Kind: webform.Hidden},
		{Name: "a", Value: "1", Kind: webform.Text},
		{Name: "tag", Value: "x", Kind: webform.Select},
		{Name: "b", Value: "2"},
		{Name: "tag", Value: "y", Kind: webform.Select},
	}
	typed := []webform.Field{{Name: "new", Value: "n"}, {Name: "tag", Value: "p"}, {Name: "tag", Value: "q"}, {Name: "token", Value: "typed"}, {Name: "a", Value: "3"}}
	want := []webform.Field{
		{Name: "token", Value: "page", Kind: webform.Hidden},
		{Name: "a", Value: "3", Kind: webform.Text},
		{Name: "tag", Value: "p", Kind: webform.Select},
		{Name: "tag", Value: "q", Kind: webform.Select},
		{Name: "b", Value: "2"},
		{Name: "new", Value: "n"},
	}
	hidden := func(f webform.Field) bool { return f.Kind == webform.Hidden }
	if diff := cmp.Diff(webform.Overlay(page, typed, hidden), want); diff != "" {
		t.Errorf("fields (-got +want):\n%s", diff)
	}
	want[0].Value = "typed"
	if diff := cmp.Diff(webform.Overlay(page, typed, nil), want); diff != "" {
		t.Errorf("nothing kept (-got +want):\n%s", diff)
	}
}

func FuzzParseBody(f *testing.F) {
	f.Add("multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nx\r\n--b--\r\n")
	f.Add("application/x-www-form-urlencoded", "a=1&b=%20")
	f.Fuzz(func(t *testing.T, contentType, body string) {
		fields, err := webform.ParseBody(contentType, []byte(body))
		if err != nil {
			return
		}
		_, written := webform.Encode(webform.URLEncoded, "", fields)
		if again, err := webform.ParseBody(webform.URLEncoded, written); err != nil || len(again) != len(fields) {
			t.Errorf("%d fields became %d: %v", len(fields), len(again), err)
		}
	})
}
