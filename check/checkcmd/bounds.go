package checkcmd

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/internal/cli"
)

// boundFlags choose the checks and limit what they send.
type boundFlags struct {
	level       string
	authorities string
	insecure    bool
}

// maxParallel bounds the requests in flight.
const maxParallel = 1000

func (f *boundFlags) register(flags *pflag.FlagSet, c *check.Config) {
	flags.StringVar(&f.level, "level", strings.ToLower(string(check.LevelShould)), "lowest `level` that runs and counts: must, should or strict")
	flags.StringSliceVar(&c.Only, "only", nil, "run only these checks or groups, such as `RACE,BASIC-02`")
	flags.StringSliceVar(&c.Skip, "skip", nil, "leave out these `checks` or groups")
	flags.StringSliceVar(&c.Ignore, "ignore", nil, "JSON `pointers` and header names that may differ between an answer and its replay")
	flags.StringSliceVar(&c.Mask, "mask", nil, "mask the values of these headers, JSON members and form fields (`names`) in reports, in addition to known secrets")
	flags.Float64Var(&c.Rate, "rate", c.Rate, "send at most `n` requests a second")
	flags.IntVar(&c.Parallel, "parallel", c.Parallel, "send at most `n` requests at once")
	flags.DurationVar(&c.Timeout, "timeout", c.Timeout, "give up on a request after this long")
	flags.DurationVar(&c.Settle, "settle", c.Settle, "how long an effect may take to show up in a count")
	flags.StringVar(&f.authorities, "cacert", "", "verify the service's certificate with the authorities in this PEM `file`")
	flags.BoolVarP(&f.insecure, "insecure", "k", false, "skip TLS certificate verification")
}

// into checks the bounds. It also applies the connection options of a curl command.
func (f *boundFlags) into(c *check.Config, reach *source.Reach) error {
	switch level := check.Level(strings.ToUpper(f.level)); level {
	case check.LevelMust, check.LevelShould, check.LevelStrict:
		c.Level = level
	default:
		return cli.Usagef("--level %q must be must, should or strict", f.level)
	}
	switch {
	case !(c.Rate > 0): // also rejects NaN
		return cli.Usagef("--rate %v is not above zero", c.Rate)
	case c.Parallel < 2 || c.Parallel > maxParallel:
		return cli.Usagef("--parallel %d is not between 2 and %d", c.Parallel, maxParallel)
	case c.Timeout <= 0:
		return cli.Usagef("--timeout %s is not above zero", c.Timeout)
	case c.Settle <= 0:
		return cli.Usagef("--settle %s is not above zero", c.Settle)
	}
	var err error
	c.TLS, err = f.tls(reach)
	return err
}

// tls returns nil if the defaults of this machine apply.
func (f *boundFlags) tls(reach *source.Reach) (*tls.Config, error) {
	insecure := f.insecure || reach.Insecure
	file := cmp.Or(f.authorities, reach.CACert)
	if !insecure && file == "" && reach.Cert == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure} //nolint:gosec // on request.
	if file != "" {
		pem, err := os.ReadFile(file) //nolint:gosec // named by the person who runs the check.
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--cacert: %w", err))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, cli.Usagef("--cacert %s has no certificate in PEM (-----BEGIN CERTIFICATE-----)", file)
		}
	}
	if reach.Cert != "" {
		key := cmp.Or(reach.Key, reach.Cert)
		pair, err := tls.LoadX509KeyPair(reach.Cert, key)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("the client's certificate: %w", err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
