package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxCertificateBytes bounds each file.
const maxCertificateBytes = 1 << 20

// certificatesEvery is the time between two looks at the files.
const certificatesEvery = 10 * time.Second

// certificates serve TLS with the files of the config, and follow them. Connections that are open keep the certificate
// that they began with.
type certificates struct {
	cert, key, clientCA string // clientCA is empty for none
	log                 *slog.Logger
	held                atomic.Pointer[certificate]
	refused             atomic.Pointer[[]byte] // the files at the last look and why they could not be served
}

// certificate serves new connections.
type certificate struct {
	files   []byte // as they were read
	config  *tls.Config
	expires time.Time
}

// openCertificates reads the files. nil without any.
func openCertificates(c *Config) (*certificates, error) {
	if c.CertFile == "" {
		return nil, nil
	}
	all := &certificates{cert: c.CertFile, key: c.KeyFile, clientCA: c.ClientCAFile, log: c.Logger}
	held, _, err := all.read()
	if err != nil {
		return nil, fmt.Errorf("gateway: %w", err)
	}
	all.held.Store(held)
	return all, nil
}

// tls is the configuration of the server.
func (c *certificates) tls() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.held.Load().config, nil },
	}
}

// read checks the files as a whole. It returns their bytes in either case.
func (c *certificates) read() (*certificate, []byte, error) {
	var read [3][]byte
	var problems []error
	for i, name := range []string{c.cert, c.key, c.clientCA} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err == nil && (!info.Mode().IsRegular() || info.Size() > maxCertificateBytes) { // a pipe is never read to its end
			err = fmt.Errorf("%s is not a file of at most %d bytes", name, maxCertificateBytes)
		}
		if err == nil {
			read[i], err = os.ReadFile(name) //nolint:gosec // the operator names it
		}
		problems = append(problems, err)
	}
	files := bytes.Join(read[:], []byte{0})
	if err := errors.Join(problems...); err != nil {
		return nil, files, fmt.Errorf("load certificate: %w", err)
	}
	cert, err := tls.X509KeyPair(read[0], read[1])
	if err != nil {
		return nil, files, fmt.Errorf("load certificate: %w (%s and %s are PEM, and belong together)", err, c.cert, c.key)
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"}}
	if c.clientCA != "" {
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
		if !config.ClientCAs.AppendCertsFromPEM(read[2]) {
			return nil, files, fmt.Errorf("%s holds no certificate (it must be PEM)", c.clientCA)
		}
	}
	return &certificate{files, config, cert.Leaf.NotAfter}, files, nil
}

// follow looks at the files now and then, and when asked, until ctx ends.
func (c *certificates) follow(ctx context.Context, asked <-chan struct{}) {
	ticker := time.NewTicker(certificatesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case _, ok := <-asked:
			if !ok {
				asked = nil
			}
		}
		c.look(ctx)
	}
}

// look serves changed files that can be served. Files that are only half replaced fit together at a later look.
func (c *certificates) look(ctx context.Context) {
	read, files, err := c.read()
	switch {
	case err == nil && bytes.Equal(files, c.held.Load().files):
		c.refused.Store(nil)
	case err == nil && time.Now().After(read.expires) && !read.expires.After(c.held.Load().expires):
		err = fmt.Errorf("load certificate: %s expired at %v, and the one that is served is valid for longer", c.cert, read.expires.UTC().Format(time.RFC3339))
	case err == nil:
		c.held.Store(read)
		c.refused.Store(nil)
		c.log.LogAttrs(ctx, slog.LevelInfo, "certificate was renewed", slog.Time("expires", read.expires))
	}
	if err == nil {
		return
	}
	now := append(files, err.Error()...)
	if before := c.refused.Swap(&now); before == nil || !bytes.Equal(*before, now) { // once for each content
		c.log.LogAttrs(ctx, slog.LevelError, "certificate was not renewed, the former one is served", slog.Any("error", err))
	}
}

// stale reports that the files cannot be served, so that new connections get their former content.
func (c *certificates) stale() bool { return c != nil && c.refused.Load() != nil }

// gauges are for alerts before callers see an error.
func (c *certificates) gauges() []prometheus.Collector {
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: metricNamespace, Name: name, Help: help}, value)
	}
	return []prometheus.Collector{
		gauge("certificate_expiry_timestamp_seconds", "When the certificate that new connections get expires, as Unix time.",
			func() float64 { return float64(c.held.Load().expires.Unix()) }),
		gauge("certificate_stale", "1 while the files hold a certificate that cannot be served.", func() float64 {
			if c.stale() {
				return 1
			}
			return 0
		}),
	}
}
