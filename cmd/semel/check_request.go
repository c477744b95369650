package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check/source"
	"github.com/semel-dev/semel/check/wire"
)

// requestFlags say which request is tried: as curl has it, or from a file.
type requestFlags struct {
	flags     source.Flags
	curl      string
	har       string
	openAPI   string
	operation string
	httpFile  string
}

func (f *requestFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.flags.Method, "request", "X", "", "`method` of the request (default POST with data, otherwise GET)")
	flags.StringArrayVarP(&f.flags.Header, "header", "H", nil, "header `line` \"Name: value\", or @FILE with such lines; can be repeated")
	flags.StringArrayVarP(&f.flags.Data, "data", "d", nil, "`data` of the body, joined by & where repeated; @FILE reads a file without its line breaks")
	flags.StringArrayVar(&f.flags.DataRaw, "data-raw", nil, "`data` in which @ means nothing")
	flags.StringArrayVar(&f.flags.DataBinary, "data-binary", nil, "`data`; @FILE reads a file as it is")
	flags.StringArrayVar(&f.flags.DataURLEncode, "data-urlencode", nil, "`data` that is encoded: NAME=CONTENT, NAME@FILE")
	flags.StringArrayVar(&f.flags.JSON, "json-body", nil, "`data` with the headers of JSON (curl's --json)")
	flags.StringArrayVarP(&f.flags.Form, "form", "F", nil, "`part` of a multipart body: NAME=CONTENT, NAME=@FILE")
	flags.StringVarP(&f.flags.User, "user", "u", "", "user and password for Basic authentication: `NAME:PASSWORD`")
	flags.StringArrayVarP(&f.flags.Cookie, "cookie", "b", nil, "`cookies`, as \"NAME=VALUE; …\"")
	flags.StringVar(&f.curl, "curl", "", "take the request from a curl command `line`; @FILE reads it, @- from standard input")
	flags.StringVar(&f.har, "har", "", "take it from a browser's recording (HAR): `FILE[#ENTRY]`, where the entry is a number or a part of its URL")
	flags.StringVar(&f.openAPI, "openapi", "", "take it from an OpenAPI document, a `file` of JSON or YAML")
	flags.StringVar(&f.operation, "operation", "", "with --openapi: `id` of the operation, or \"POST /path\"")
	flags.StringVar(&f.httpFile, "http-file", "", "take it from a .http file: `FILE[#NAME]`")
}

// read returns the request under test. With a source that is a file, the URL
// argument is where the service is, and -H adds header lines.
func (f *requestFlags) read(p *process, args []string) (*source.Request, error) {
	at := ""
	if len(args) == 1 {
		at = args[0]
	}
	given := f.given()
	switch {
	case len(given) > 1:
		return nil, usagef("%s and %s exclude each other: the request comes from one place", given[0], given[1])
	case f.operation != "" && f.openAPI == "":
		return nil, usagef("--operation belongs to --openapi")
	case len(given) == 0 && at == "":
		return nil, usagef("name the URL to try, such as semel check http://127.0.0.1:9000/orders -d 'n={{n}}', or take it with --curl, --har, --openapi or --http-file")
	case len(given) == 0:
		f.flags.URL, f.flags.Stdin = at, p.stdin
		request, err := f.flags.Request()
		return request, asUsage(err)
	case f.hasCurlFlags():
		return nil, usagef("%s brings the request: of curl's flags only -H goes with it", given[0])
	}
	request, err := f.load(p, at)
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", given[0], err))
	}
	return request, f.change(request, at)
}

// given are the flags that name a source.
func (f *requestFlags) given() []string {
	var given []string
	for _, one := range []struct{ name, value string }{
		{"--curl", f.curl}, {"--har", f.har}, {"--openapi", f.openAPI}, {"--http-file", f.httpFile},
	} {
		if one.value != "" {
			given = append(given, one.name)
		}
	}
	return given
}

func (f *requestFlags) hasCurlFlags() bool {
	c := &f.flags
	return c.Method != "" || c.User != "" || len(c.Data)+len(c.DataRaw)+len(c.DataBinary)+len(c.DataURLEncode)+len(c.JSON)+len(c.Form)+len(c.Cookie) > 0
}

// load reads the source.
func (f *requestFlags) load(p *process, at string) (*source.Request, error) {
	if f.curl != "" {
		line, err := textOrFile(f.curl, p.stdin)
		if err != nil {
			return nil, err
		}
		return source.Curl(line)
	}
	return f.loadFile(at)
}

// change sends the request of a source to another service, with more headers.
func (f *requestFlags) change(request *source.Request, at string) error {
	for _, line := range f.flags.Header {
		field, err := headerLine(line)
		if err != nil {
			return err
		}
		setField(&request.Template.Header, field)
	}
	if at == "" || f.openAPI != "" {
		return nil
	}
	to, err := url.Parse(at)
	if err != nil || to.Host == "" {
		return usagef("the URL %q cannot be read: write it as http://127.0.0.1:9000", at)
	}
	if strings.Trim(to.Path, "/") != "" || to.RawQuery != "" {
		return usagef("the path of the request comes from the file: name only where the service is, %s://%s", to.Scheme, to.Host)
	}
	_, rest, _ := strings.Cut(request.Template.URL, "://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[end:]
	} else {
		rest = ""
	}
	request.Template.URL = to.Scheme + "://" + to.Host + rest
	return nil
}

// textOrFile is the value of a flag, or with @ what its file says.
func textOrFile(value string, stdin io.Reader) (string, error) {
	name, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	from := stdin
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // named by the person who runs the check.
		if err != nil {
			return "", err
		}
		defer func() { _ = file.Close() }() // it was only read
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, source.MaxBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case len(text) > source.MaxBytes:
		return "", fmt.Errorf("%s is larger than %d MiB: cut it down to the request", name, source.MaxBytes>>20)
	}
	return string(text), nil
}

// headerLine reads "Name: value".
func headerLine(line string) (wire.Field, error) {
	name, value, ok := strings.Cut(line, ":")
	if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(line, "\r\n\x00") {
		return wire.Field{}, usagef("a header line is written as \"Name: value\"") // the line may be a secret
	}
	return wire.Field{Name: name, Value: strings.TrimSpace(value)}, nil
}

func headerLines(lines []string) ([]wire.Field, error) {
	var all []wire.Field
	for _, line := range lines {
		field, err := headerLine(line)
		if err != nil {
			return nil, err
		}
		all = append(all, field)
	}
	return all, nil
}

// setField puts the line in the place of all of its name.
func setField(header *[]wire.Field, field wire.Field) {
	r := wire.Request{Header: *header}
	r.Set(field.Name, field.Value)
	*header = r.Header
}

// asUsage gives an error of the command line its exit code.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usage(err)
}
