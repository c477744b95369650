package checkcmd

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/webhooksig"
)

const (
	// maxVarBytes bounds a file with the value of a {{var:NAME}}, and the file of --as.
	maxVarBytes = 64 << 10
	// WebhookVariable has the secret if no file is given.
	WebhookVariable = "SEMEL_WEBHOOK_SECRET"
)

// userFlags configure the caller, and the requests before the one under test.
type userFlags struct {
	as         string
	vars       []string
	mint       string
	page       string
	secretFile string
}

func (f *userFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.as, "as", "", "YAML `file` with the caller (user), a second one (other), and how they log in (login)")
	flags.StringArrayVar(&f.vars, "var", nil, "value of a {{var:NAME}}: `NAME=VALUE`, or NAME=@FILE")
	flags.StringVar(&f.mint, "mint", "", "ask for {{minted}} before each intent: `\"[METHOD] URL /pointer\"` (default GET)")
	flags.StringVar(&f.page, "page", "", "for --profile form: `URL[#FORM]` of the page with the form, and the form's id, name or action")
	flags.StringVar(&f.secretFile, "webhook-secret-file", "", "`file` with the secret that signs webhooks (whsec_…)")
}

// caller is a user in the file of --as.
type caller struct {
	Header []string          `yaml:"header"`
	Var    map[string]string `yaml:"var"`
}

// callers is the content of the file of --as.
type callers struct {
	User  caller `yaml:"user"`
	Other caller `yaml:"other"`
	Login *struct {
		Curl string            `yaml:"curl"`
		Page string            `yaml:"page"`
		Take map[string]string `yaml:"take"`
	} `yaml:"login"`
}

func (f *userFlags) into(p *cli.Process, c *check.Config) error {
	as, err := f.callers()
	if err != nil {
		return err
	}
	if err := f.addVars(&as.User); err != nil {
		return err
	}
	if c.User, err = as.User.user(); err != nil {
		return err
	}
	if c.Other, err = as.Other.user(); err != nil {
		return err
	}
	if c.Login, err = as.login(c.Template.URL); err != nil {
		return err
	}
	if c.Mint, err = f.mintOf(c); err != nil {
		return err
	}
	if f.page != "" {
		at, form, _ := strings.Cut(f.page, "#")
		at, _ = besides(c.Template.URL, at)
		c.Page = &check.Page{URL: at, Form: form}
	}
	c.Secret, err = f.secret(p)
	return err
}

// callers reads the file. Its errors do not quote it, since it may contain secrets.
func (f *userFlags) callers() (*callers, error) {
	as := &callers{}
	if f.as == "" {
		return as, nil
	}
	text, err := secretFile(f.as)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("--as: %w", err))
	}
	if err := yaml.UnmarshalWithOptions([]byte(text), as, yaml.Strict()); err != nil {
		line := ""
		if wrong, ok := errors.AsType[yaml.Error](err); ok && wrong.GetToken() != nil {
			line = fmt.Sprintf(":%d", wrong.GetToken().Position.Line)
		}
		return nil, cli.Usagef("--as %s%s: the file cannot be read: it has user and other, each with header (a list of lines) and var, and login with curl, page and take", f.as, line)
	}
	return as, nil
}

func (f *userFlags) addVars(to *caller) error {
	for _, text := range f.vars {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return cli.Usagef("--var is written as NAME=VALUE, or NAME=@FILE") // the text may be a secret
		}
		if to.Var == nil {
			to.Var = map[string]string{}
		}
		to.Var[name] = value
	}
	return nil
}

// user returns nil if nothing identifies the caller.
func (u *caller) user() (*check.User, error) {
	if len(u.Header)+len(u.Var) == 0 {
		return nil, nil
	}
	header, err := headerLines("--as", u.Header)
	if err != nil {
		return nil, err
	}
	user := &check.User{Header: header, Values: check.Values{}}
	for name, value := range u.Var {
		if file, ok := strings.CutPrefix(value, "@"); ok {
			if value, err = secretFile(file); err != nil {
				return nil, cli.Usage(fmt.Errorf("variable %s: %w", name, err))
			}
		}
		user.Values["var:"+strings.TrimPrefix(name, "var:")] = value
	}
	return user, nil
}

// secretFile returns the text of a file without the line break at its end.
func secretFile(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxVarBytes:
		return "", fmt.Errorf("%s is not a file of at most %d bytes", name, maxVarBytes)
	}
	text, err := os.ReadFile(name) //nolint:gosec // named by the person who runs the check.
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

func (as *callers) login(target string) (*check.Login, error) {
	if as.Login == nil {
		return nil, nil
	}
	template, err := curlTemplate("login", as.Login.Curl)
	if err != nil {
		return nil, err
	}
	login := &check.Login{Template: template, Take: map[string]string{}}
	if as.Login.Page != "" {
		at, _ := besides(target, as.Login.Page)
		login.Page = &check.Page{URL: at}
	}
	for name, pointer := range as.Login.Take {
		if !strings.HasPrefix(pointer, "/") {
			return nil, cli.Usagef("login: take %s: %q is not a JSON pointer, such as /access_token", name, pointer)
		}
		login.Take[strings.TrimPrefix(name, "var:")] = pointer
	}
	return login, nil
}

func curlTemplate(flag, value string) (check.Template, error) {
	line, err := textOrFile(value, strings.NewReader(""))
	if err != nil {
		return check.Template{}, cli.Usage(fmt.Errorf("%s: %w", flag, err))
	}
	request, err := source.Curl(line)
	if err != nil {
		return check.Template{}, cli.Usage(fmt.Errorf("%s: %w", flag, err))
	}
	return request.Template, nil
}

func (f *userFlags) mintOf(c *check.Config) (*check.Mint, error) {
	if f.mint == "" {
		return nil, nil
	}
	words := strings.Fields(f.mint)
	if len(words) == 2 {
		words = append([]string{http.MethodGet}, words...)
	}
	if len(words) != 3 || !strings.HasPrefix(words[2], "/") {
		return nil, cli.Usagef("--mint %q is not written as \"[METHOD] URL /pointer\", such as \"POST /ids /id\"", f.mint)
	}
	at, same := besides(c.Template.URL, words[1])
	template := check.Template{Method: words[0], URL: at}
	if same {
		template.Header = credentials(c)
	}
	return &check.Mint{Template: template, Pointer: words[2]}, nil
}

func (f *userFlags) secret(p *cli.Process) ([]byte, error) {
	text, from := p.Getenv(WebhookVariable), WebhookVariable
	if f.secretFile != "" {
		var err error
		if text, err = secretFile(f.secretFile); err != nil {
			return nil, cli.Usage(fmt.Errorf("--webhook-secret-file: %w", err))
		}
		from = "--webhook-secret-file"
	}
	if text == "" {
		return nil, nil
	}
	secret, err := webhooksig.DecodeSecret(text)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("%s: %w", from, err))
	}
	return secret, nil
}
