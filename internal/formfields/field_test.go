package formfields_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/formfields"
)

type body string

func (b body) Len() (int64, error)          { return int64(len(b)), nil }
func (b body) Open() (io.ReadSeeker, error) { return strings.NewReader(string(b)), nil }

// TestEachRefusesPartsWithTwoReadings (promise 2): readers of multipart forms differ in what begins a part, and in its name and content.
func TestEachRefusesPartsWithTwoReadings(t *testing.T) {
	t.Parallel()
	const head, end = "Content-Disposition: form-data; name=\"k\"\r\n\r\n", "\r\n--b--\r\n"
	for name, tt := range map[string]struct {
		body    string
		refused bool
	}{
		"plain":             {"--b\r\n" + head + "1" + end, false},
		"nothing":           {"", false},
		"no parts":          {"--b--\r\n", false},
		"preamble":          {"text\r\n--b\r\n" + head + "1" + end + "text", false},
		"far apart":         {"--b\r\n" + head + strings.Repeat("-", 4095) + end, false},
		"behind the end":    {"--b\r\n" + head + "1" + end + "--b\r\n" + head + "2" + end, true},
		"inside of a line":  {"--b\r\n" + head + "1--b\r\n" + head + "2" + end, true},
		"text behind it":    {"--b\r\n" + head + "1\r\n--by\r\n" + head + "2" + end, true},
		"far behind":        {"--b\r\n" + head + "1" + end + strings.Repeat("x", 9000) + "\r\n--b\r\n" + head + "2" + end, true},
		"single quotes":     {"--b\r\n" + strings.ReplaceAll(head, `"`, "'") + "1" + end, true},
		"encoded word":      {"--b\r\n" + strings.Replace(head, `"k"`, `"=?utf-8?q?k?="`, 1) + "1" + end, true},
		"continued":         {"--b\r\n" + strings.Replace(head, `name="k"`, `name*0="k"`, 1) + "1" + end, true},
		"quoted-printable":  {"--b\r\nContent-Transfer-Encoding: quoted-printable\r\n" + head + "=31" + end, true},
		"8bit":              {"--b\r\nContent-Transfer-Encoding: 8Bit\r\n" + head + "1" + end, false},
		"a file, as base64": {"--b\r\nContent-Transfer-Encoding: base64\r\n" + strings.Replace(head, `"k"`, `"k"; filename="k"`, 1) + "MQ==" + end, false},
	} {
		r := &http.Request{Header: http.Header{"Content-Type": {"multipart/form-data; boundary=b"}}}
		err := formfields.Each(r.WithContext(t.Context()), body(tt.body), func(formfields.Field) error { return nil })
		if _, refused := errors.AsType[*formfields.Error](err); refused != tt.refused || !refused && err != nil {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
