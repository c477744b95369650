package source

import (
	"io"
)

// Flags describe a request as curl's options do. The zero value of each is that
// it was not given; only URL is required. Data of several kinds are joined in the
// order of the fields.
type Flags struct {
	Method string   // -X; default POST with data, GET without
	URL    string   // http:// where it names no scheme
	Header []string // -H "NAME: VALUE", or @FILE with such lines

	// Data (-d) are pieces of a body, joined by &. @FILE is read without its line
	// breaks; @- is Stdin.
	Data []string
	// DataRaw (--data-raw) are pieces in which @ means nothing.
	DataRaw []string
	// DataBinary (--data-binary) are pieces whose @FILE is read as it is.
	DataBinary []string
	// DataURLEncode (--data-urlencode) are pieces CONTENT, =CONTENT,
	// NAME=CONTENT, @FILE or NAME@FILE; what is content is encoded.
	DataURLEncode []string
	// JSON (--json) are pieces joined by nothing, with the headers of JSON.
	JSON []string
	// Form (-F) are parts of a multipart body: NAME=CONTENT, NAME=@FILE,
	// NAME=<FILE, with ;type= and ;filename=.
	Form []string
	// FormString (--form-string) are parts in which @, < and ; mean nothing.
	FormString []string

	User    string   // -u USER:PASSWORD, sent as Basic authentication
	Cookie  []string // -b "NAME=VALUE; …"
	Agent   string   // -A; default semel-check
	Referer string   // -e
	Get     bool     // -G: data goes into the query
	// Stdin is read for @-. Nil refuses it.
	Stdin io.Reader
}

// Request is the request that the flags describe, by curl's rules, with notes about
// what was left out. An error names the flag.
func (f Flags) Request() (*Request, error) {
	c := &command{
		method: f.Method, header: f.Header, user: f.User, cookie: f.Cookie,
		agent: f.Agent, referer: f.Referer, get: f.Get, globOff: true,
	}
	if f.URL != "" {
		c.url = []string{f.URL}
	}
	if f.Stdin != nil {
		c.stdin = func() ([]byte, error) { return readAll(f.Stdin, "standard input") }
	}
	for _, kind := range []struct {
		kind   dataKind
		values []string
	}{
		{dataPlain, f.Data}, {dataRaw, f.DataRaw}, {dataBinary, f.DataBinary}, {dataEncode, f.DataURLEncode}, {dataJSON, f.JSON},
	} {
		for _, value := range kind.values {
			c.data = append(c.data, piece{kind.kind, value})
		}
	}
	for _, value := range f.Form {
		c.form = append(c.form, formField{text: value})
	}
	for _, value := range f.FormString {
		c.form = append(c.form, formField{text: value, literal: true})
	}
	return c.request()
}
