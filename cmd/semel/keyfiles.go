package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel"
)

const (
	secretVariable = "SEMEL_SECRET"
	// maxKeyFileBytes bounds a file of keys or secrets.
	maxKeyFileBytes = 64 << 10
	// none is the line for outcomes that are not encrypted, and for digests without a secret.
	none = "none"
)

// keyFiles are the flags that name files with keys and secrets, whose contents are in no flag and in no message.
type keyFiles struct {
	outcome, digest string
}

func (f *keyFiles) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.outcome, "outcome-keys", "", "`file` with the keys that encrypt answers in the store, one per line; the first encrypts (see: semel keys new)")
	flags.StringVar(&f.digest, "digest-secrets", "", "`file` with the secrets that key the digests of keys in the store, one per line; the first is for new records")
}

// into reads the files, and SEMEL_SECRET, into the options of a guard.
func (f *keyFiles) into(o *semel.Options, p *process) error {
	if f.outcome != "" {
		lines, err := secretLines("outcome-keys", f.outcome)
		if err != nil {
			return err
		}
		for _, line := range lines {
			key, err := parseOutcomeKey(line.text)
			if err != nil {
				return usagef("--outcome-keys %s, line %d: %w (make a line with: semel keys new)", f.outcome, line.number, err)
			}
			o.OutcomeKeys = append(o.OutcomeKeys, key)
		}
	}
	secret := p.getenv(secretVariable)
	switch {
	case f.digest == "" && secret != "":
		o.Secrets = [][]byte{[]byte(secret)}
	case f.digest != "" && secret != "":
		return usagef("--digest-secrets and %s exclude each other: make the secret a line of the file, and unset the variable", secretVariable)
	case f.digest != "":
		lines, err := secretLines("digest-secrets", f.digest)
		if err != nil {
			return err
		}
		for _, line := range lines {
			secret, err := parseSecret(line.text)
			if err != nil {
				return usagef("--digest-secrets %s, line %d: %w", f.digest, line.number, err)
			}
			o.Secrets = append(o.Secrets, secret)
		}
	}
	return nil
}

// secretLine is a non-empty line. It is never printed.
type secretLine struct {
	number int
	text   string
}

// secretLines reads a file that must not be readable by others.
func secretLines(flag, name string) ([]secretLine, error) {
	file, err := os.Open(name) //nolint:gosec // the operator names the file.
	if err != nil {
		return nil, usage(fmt.Errorf("--%s: %w", flag, err))
	}
	defer file.Close() //nolint:errcheck // only read.
	info, err := file.Stat()
	if err != nil {
		return nil, usage(fmt.Errorf("--%s: %w", flag, err))
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" {
		return nil, usagef("--%s %s: others can read or change this file (mode %04o), and so get the keys. Run: chmod 600 %s", flag, name, mode, name)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFileBytes+1))
	switch {
	case err != nil:
		return nil, usage(fmt.Errorf("--%s: %w", flag, err))
	case len(text) > maxKeyFileBytes:
		return nil, usagef("--%s %s is larger than %s; it must have one key per line", flag, name, size(maxKeyFileBytes))
	}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return nil, usagef("--%s %s begins with a byte order mark, which would count as part of the line; save it as UTF-8 without one", flag, name)
	}
	var lines []secretLine
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(line, "#") {
			return nil, usagef("--%s %s, line %d begins with #: comments are not supported, as every line counts; remove it", flag, name, i+1)
		}
		if line != "" {
			lines = append(lines, secretLine{i + 1, line})
		}
	}
	if len(lines) == 0 {
		return nil, usagef("--%s %s is empty; it must have one key per line", flag, name)
	}
	return lines, nil
}

// parseOutcomeKey parses a line of [outcomeKeyLine]. Its errors do not show the key.
func parseOutcomeKey(line string) (semel.OutcomeKey, error) {
	if line == none {
		return semel.OutcomeKey{}, nil
	}
	words := strings.Fields(line)
	if len(words) != 2 {
		return semel.OutcomeKey{}, errors.New("a line must be an id, a space, and 32 bytes in base64")
	}
	key := semel.OutcomeKey{ID: words[0]}
	raw, err := base64.StdEncoding.DecodeString(words[1])
	if err != nil {
		return semel.OutcomeKey{}, errors.New("the text after the id is not base64")
	}
	if copy(key.Key[:], raw) != len(raw) || len(raw) != len(key.Key) {
		return semel.OutcomeKey{}, fmt.Errorf("the key has %d bytes, %d are needed", len(raw), len(key.Key))
	}
	return key, nil
}

func outcomeKeyLine(k *semel.OutcomeKey) string {
	return k.ID + " " + base64.StdEncoding.EncodeToString(k.Key[:]) + "\n"
}

// parseSecret parses a line of a file of secrets. The whole line is the secret.
func parseSecret(line string) ([]byte, error) {
	switch {
	case line == none:
		return nil, nil
	case strings.TrimSpace(line) != line:
		return nil, errors.New("there is white space before or after the secret; remove it (a secret that includes it cannot be given in a file)")
	}
	return []byte(line), nil
}
