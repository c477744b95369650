package checkcmd

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/cli"
)

// requestFlags select the request under test: a curl command after --, or a file.
type requestFlags struct {
	from   string
	header []string
}

func (f *requestFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.from, "from", "", "read the request from `FILE[#ENTRY]`: a browser recording (.har), an OpenAPI document (.yaml, .json), a .http file, or a curl command (any other name, or - for standard input)")
	flags.StringArrayVarP(&f.header, "header", "H", nil, "add a header `line`, \"Name: value\"; can be repeated")
}

// splitArgs returns the URL of the service, which may be empty, and the words of the curl command after --.
func splitArgs(cmd *cobra.Command, args []string) (at string, curl []string, err error) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, curl = args[:dash], args[dash:]
	}
	switch {
	case len(args) > 1:
		return "", nil, cli.Usagef("unexpected argument %q: write semel check [flags] [URL] -- curl …", args[1])
	case len(args) == 1:
		at = args[0]
	}
	return at, curl, nil
}

// read returns the request under test. A URL alone is requested as curl would do. Otherwise the URL only names the
// service to send to.
func (f *requestFlags) read(p *cli.Process, at string, curl []string) (*source.Request, error) {
	var request *source.Request
	var err error
	switch {
	case f.from != "" && len(curl) > 0:
		return nil, cli.Usagef("--from and a curl command exclude each other: give the request once")
	case f.from != "":
		if request, err = f.load(p, at); err != nil {
			return nil, cli.Usage(fmt.Errorf("--from: %w", err))
		}
		if f.isOpenAPI() {
			at = "" // the document's paths are below it
		}
	case len(curl) == 0 && at == "":
		return nil, cli.Usagef("name the request to try, such as semel check -- curl http://127.0.0.1:9000/orders -d 'n={{n}}', or read it with --from FILE")
	default:
		if len(curl) == 0 {
			curl, at = []string{"curl", at}, ""
		}
		if request, err = source.CurlWords(curl, p.Stdin); err != nil {
			return nil, cli.Usage(err)
		}
	}
	return request, f.change(request, at)
}

func (f *requestFlags) load(p *cli.Process, at string) (*source.Request, error) {
	name, entry, _ := strings.Cut(f.from, "#")
	var read func(io.Reader) (*source.Request, error)
	switch extension := strings.ToLower(filepath.Ext(name)); {
	case extension == ".har":
		read = func(r io.Reader) (*source.Request, error) { return source.HAR(r, entry) }
	case extension == ".http", extension == ".rest":
		read = func(r io.Reader) (*source.Request, error) { return source.HTTPFile(r, entry) }
	case f.isOpenAPI():
		read = func(r io.Reader) (*source.Request, error) { return source.OpenAPI(r, entry, at) }
	default:
		line, err := textOrFile("@"+name, p.Stdin)
		if err != nil {
			return nil, err
		}
		return source.Curl(line)
	}
	file, err := os.Open(name) //nolint:gosec // named by the person who runs the check.
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return read(file)
}

func (f *requestFlags) isOpenAPI() bool {
	name, _, _ := strings.Cut(f.from, "#")
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

// change adds the header lines, and sends the request to another service if one is given.
func (f *requestFlags) change(request *source.Request, at string) error {
	header, err := headerLines("-H", f.header)
	if err != nil {
		return err
	}
	for _, field := range header {
		setField(&request.Template.Header, field)
	}
	if at == "" {
		return nil
	}
	to, err := url.Parse(at)
	if err != nil || to.Host == "" {
		return cli.Usagef("the URL cannot be read: write it as http://127.0.0.1:9000")
	}
	if strings.Trim(to.Path, "/") != "" || to.RawQuery != "" {
		return cli.Usagef("the path comes with the request: give only the service, %s://%s", to.Scheme, to.Host)
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

// textOrFile returns the value of a flag, or with @ the text of its file.
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
		defer func() { _ = file.Close() }() // only read
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, source.MaxBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case len(text) > source.MaxBytes:
		return "", fmt.Errorf("%s is larger than %d MiB: reduce it to the request", name, source.MaxBytes>>20)
	}
	return string(text), nil
}

// headerLines reads lines of "Name: value".
func headerLines(flag string, lines []string) (all []wire.Field, err error) {
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(line, "\r\n\x00") {
			return nil, cli.Usagef("%s: a header line is written as \"Name: value\"", flag) // the line may be a secret
		}
		all = append(all, wire.Field{Name: name, Value: strings.TrimSpace(value)})
	}
	return all, nil
}

// setField replaces all lines of the field's name by it.
func setField(header *[]wire.Field, field wire.Field) {
	r := wire.Request{Header: *header}
	r.Set(field.Name, field.Value)
	*header = r.Header
}
