package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/source"
)

// maxVarBytes bounds a file with the value of a {{var:NAME}}.
const maxVarBytes = 64 << 10

// userFlags say who sends, and what is asked before.
type userFlags struct {
	header, otherHeader []string
	vars, otherVars     []string
	login, loginPage    string
	take                []string
	mint                string
}

func (f *userFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.header, "user-header", nil, "header `line` that says who the caller is; can be repeated")
	flags.StringArrayVar(&f.otherHeader, "other-header", nil, "header `line` of somebody else, for the checks of scope")
	flags.StringArrayVar(&f.vars, "var", nil, "value of a {{var:NAME}}: `NAME=VALUE`, or NAME=@FILE")
	flags.StringArrayVar(&f.otherVars, "other-var", nil, "the same for somebody else: `NAME=VALUE`")
	flags.StringVar(&f.login, "login", "", "log in first, by a curl command `line` or @FILE; its cookies are kept")
	flags.StringVar(&f.loginPage, "login-page", "", "`URL` of the page with the form that logs in; its hidden fields are sent with what --login has as data")
	flags.StringArrayVar(&f.take, "login-take", nil, "keep what the log-in's answer has at a pointer: `NAME=/pointer`, for {{var:NAME}}")
	flags.StringVar(&f.mint, "mint", "", "ask for {{minted}} before each intent: `\"[METHOD] URL /pointer\"` (default GET)")
}

func (f *userFlags) into(c *check.Config) error {
	var err error
	if c.User, err = userOf(f.header, f.vars); err != nil {
		return err
	}
	if c.Other, err = userOf(f.otherHeader, f.otherVars); err != nil {
		return err
	}
	if c.Login, err = f.loginOf(c.Template.URL); err != nil {
		return err
	}
	c.Mint, err = f.mintOf(c)
	return err
}

// userOf is nil where nothing was said about the user.
func userOf(lines, vars []string) (*check.User, error) {
	if len(lines)+len(vars) == 0 {
		return nil, nil
	}
	header, err := headerLines(lines)
	if err != nil {
		return nil, err
	}
	user := &check.User{Header: header, Values: check.Values{}}
	for _, text := range vars {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usagef("a variable is written as NAME=VALUE, or NAME=@FILE") // the text may be a secret
		}
		if file, ok := strings.CutPrefix(value, "@"); ok {
			if value, err = secretFile(file); err != nil {
				return nil, usage(fmt.Errorf("variable %s: %w", name, err))
			}
		}
		user.Values["var:"+strings.TrimPrefix(name, "var:")] = value
	}
	return user, nil
}

// secretFile is what a file says, without the line break at its end.
func secretFile(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxVarBytes:
		return "", fmt.Errorf("%s is no file of at most %d bytes", name, maxVarBytes)
	}
	text, err := os.ReadFile(name) //nolint:gosec // named by the person who runs the check.
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

func (f *userFlags) loginOf(target string) (*check.Login, error) {
	if f.login == "" {
		if len(f.take) > 0 || f.loginPage != "" {
			return nil, usagef("--login-take and --login-page belong to --login")
		}
		return nil, nil
	}
	template, err := curlTemplate("--login", f.login)
	if err != nil {
		return nil, err
	}
	login := &check.Login{Template: template, Take: map[string]string{}}
	if f.loginPage != "" {
		at, _ := besides(target, f.loginPage)
		login.Page = &check.Page{URL: at}
	}
	for _, text := range f.take {
		name, pointer, ok := strings.Cut(text, "=")
		if !ok || !strings.HasPrefix(pointer, "/") {
			return nil, usagef("--login-take %q is not written as NAME=/pointer, such as token=/access_token", text)
		}
		login.Take[strings.TrimPrefix(name, "var:")] = pointer
	}
	return login, nil
}

// curlTemplate reads a curl command, or a file that holds one.
func curlTemplate(flag, value string) (check.Template, error) {
	line, err := textOrFile(value, strings.NewReader(""))
	if err != nil {
		return check.Template{}, usage(fmt.Errorf("%s: %w", flag, err))
	}
	request, err := source.Curl(line)
	if err != nil {
		return check.Template{}, usage(fmt.Errorf("%s: %w", flag, err))
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
		return nil, usagef("--mint %q is not written as \"[METHOD] URL /pointer\", such as \"POST /ids /id\"", f.mint)
	}
	at, same := besides(c.Template.URL, words[1])
	template := check.Template{Method: words[0], URL: at}
	if same {
		template.Header = credentials(c)
	}
	return &check.Mint{Template: template, Pointer: words[2]}, nil
}
