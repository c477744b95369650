package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
)

// webhookVariable has the secret, where no file has it.
const webhookVariable = "SEMEL_WEBHOOK_SECRET"

// senderFlags say how a browser, or a sender of webhooks, comes by its requests.
type senderFlags struct {
	page, form string
	secretFile string
}

func (f *senderFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.page, "page", "", "`URL` of the page whose form is submitted, for --profile form")
	flags.StringVar(&f.form, "page-form", "", "id, name or action of the `form` on that page")
	flags.StringVar(&f.secretFile, "webhook-secret-file", "", "`file` with the secret that signs webhooks (whsec_…), or the variable "+webhookVariable)
}

func (f *senderFlags) into(p *process, c *check.Config) error {
	switch {
	case f.page != "":
		at, _ := besides(c.Template.URL, f.page)
		c.Page = &check.Page{URL: at, Form: f.form}
	case f.form != "":
		return usagef("--page-form belongs to --page")
	}
	text, from := p.getenv(webhookVariable), webhookVariable
	if f.secretFile != "" {
		var err error
		if text, err = secretFile(f.secretFile); err != nil {
			return usage(fmt.Errorf("--webhook-secret-file: %w", err))
		}
		from = "--webhook-secret-file"
	}
	if text == "" {
		return nil
	}
	secret, err := check.DecodeSecret(text)
	if err != nil {
		return usage(fmt.Errorf("%s: %w", from, err))
	}
	c.Secret = secret
	return nil
}
