package source_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/check/source"
)

func TestFlags(t *testing.T) {
	t.Parallel()
	const form = "\nContent-Type: application/x-www-form-urlencoded\n\n"
	for _, c := range []struct {
		flags source.Flags
		want  string
	}{
		{source.Flags{URL: "localhost/a"}, "GET http://localhost/a"},
		{source.Flags{URL: "http://a/[1-3]{b,c}"}, "GET http://a/[1-3]{b,c}"},
		{source.Flags{URL: "http://a", Data: []string{"b=c", "d=e"}}, "POST http://a" + form + "b=c&d=e"},
		{source.Flags{URL: "http://a", Method: "PUT", Data: []string{"@-"}, Stdin: strings.NewReader("b\r\nc\n")}, "PUT http://a" + form + "bc"},
		{source.Flags{URL: "http://a", DataBinary: []string{"@-"}, Stdin: strings.NewReader("b\r\nc\n")}, "POST http://a" + form + "b\r\nc\n"},
		{source.Flags{URL: "http://a", DataRaw: []string{"@b"}, DataURLEncode: []string{"c&", "=d&", "e=f&{{uuid}}"}}, "POST http://a" + form + "@b&c%26&d%26&e=f%26{{uuid}}"},
		{source.Flags{URL: "http://a?b", Get: true, Data: []string{"c=d"}}, "GET http://a?b&c=d"},
		{source.Flags{URL: "http://a", JSON: []string{"{}"}}, "POST http://a\nContent-Type: application/json\nAccept: application/json\n\n{}"},
		{source.Flags{URL: "http://a", JSON: []string{"{}"}, Header: []string{"accept: b", "Content-Type: c/d"}}, "POST http://a\naccept: b\nContent-Type: c/d\n\n{}"},
		{
			source.Flags{URL: "http://a", User: "b:c", Cookie: []string{"d=e", "f=g"}, Agent: "h", Referer: "i"},
			"GET http://a\nAuthorization: Basic Yjpj\nCookie: d=e; f=g\nUser-Agent: h\nReferer: i",
		},
	} {
		r, err := c.flags.Request()
		wants(t, r, err, c.want)
	}
}

func TestFlagsRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags source.Flags
		want  string
	}{
		{source.Flags{}, "there is no URL"},
		{source.Flags{URL: "http://a", Data: []string{"@-"}}, "-d: standard input is asked for"},
		{source.Flags{URL: "http://a", Form: []string{"x"}}, `-F "x": it has no equals sign`},
		{source.Flags{URL: "http://a", Data: []string{"@-"}, Stdin: strings.NewReader(strings.Repeat("x", source.MaxBytes+1))}, "larger than 16 MiB"},
		{source.Flags{URL: "http://a", DataRaw: []string{strings.Repeat("x", source.MaxBytes), "y"}}, "larger than 16 MiB"},
	} {
		r, err := c.flags.Request()
		refused(t, r, err, c.want)
	}
}
