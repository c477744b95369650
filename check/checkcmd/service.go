package checkcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/operate"
	"github.com/semel-dev/semel/internal/cli"
)

// minRetention is the shortest retention that a check can reliably wait out.
const minRetention = time.Second

// serviceFlags describe the service.
type serviceFlags struct {
	failing, invalid string
	otherBody        string
	restart, kill    string
}

func (f *serviceFlags) register(flags *pflag.FlagSet, c *check.Config) {
	flags.StringVar(&f.failing, "failing", "", "a request that the service answers with a 5xx: a `body`, a curl command, or @FILE with one of them")
	flags.StringVar(&f.invalid, "invalid", "", "a request that it refuses with a 4xx: the same (default: half of the `body`, or a form with empty fields)")
	flags.StringVar(&f.otherBody, "other-body", "", "another `body` to send under a known key: the same (default: the request's with something changed)")
	flags.StringVar(&f.restart, "restart", "", "shell `command` that restarts the service")
	flags.StringVar(&f.kill, "kill", "", "shell `command` that kills the service without warning and starts it again")
	flags.DurationVar(&c.Retention, "retention", 0, "how long the service remembers a key; set it short for the test")
	flags.DurationVar(&c.Recovery, "recovery", 0, "how long after a kill it may refuse retries as still running (default: unknown)")
}

func (f *serviceFlags) into(c *check.Config) error {
	for _, one := range []struct {
		flag, value string
		to          **check.Template
	}{{"--failing", f.failing, &c.Failing}, {"--invalid", f.invalid, &c.Invalid}, {"--other-body", f.otherBody, &c.OtherBody}} {
		var err error
		if *one.to, err = variant(one.flag, one.value, &c.Template); err != nil {
			return err
		}
	}
	if c.Retention != 0 && c.Retention < minRetention {
		return cli.Usagef("--retention %s is shorter than %s", c.Retention, minRetention)
	}
	if c.Recovery < 0 {
		return cli.Usagef("--recovery %s is below zero", c.Recovery)
	}
	ready := operate.Ready(clientOf(c), origin(c.Template.URL))
	if f.restart != "" {
		c.Restart = operate.Then(operate.Command(f.restart), ready)
	}
	if f.kill != "" {
		c.Kill = operate.Then(operate.Command(f.kill), ready)
	}
	return nil
}

// variant returns the request with another body, or another request; nil if the flag is not set.
func variant(flag, value string, of *check.Template) (*check.Template, error) {
	if value == "" {
		return nil, nil
	}
	text, err := textOrFile(value, strings.NewReader(""))
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("%s: %w", flag, err))
	}
	if word, _, _ := strings.Cut(strings.TrimSpace(text), " "); word == "curl" {
		template, err := curlTemplate(flag, text)
		return &template, err
	}
	template := *of
	template.Body = []byte(text)
	return &template, nil
}

func origin(at string) string {
	full, _ := besides(at, "/")
	return full
}
