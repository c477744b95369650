package command

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli"
	"github.com/semel-dev/semel/internal/secretfile"
)

const (
	secretVariable = "SEMEL_SECRET"
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
func (f *keyFiles) into(o *semel.Options, p *cli.Process) error {
	var err error
	if f.outcome != "" {
		if o.OutcomeKeys, err = parsedLines("outcome-keys", f.outcome, " (make a line with: semel keys new)", parseOutcomeKey); err != nil {
			return err
		}
	}
	secret := p.Getenv(secretVariable)
	switch {
	case f.digest == "" && secret != "":
		o.Secrets = [][]byte{[]byte(secret)}
	case f.digest != "" && secret != "":
		return cli.Usagef("--digest-secrets and %s exclude each other: make the secret a line of the file, and unset the variable", secretVariable)
	case f.digest != "":
		o.Secrets, err = parsedLines("digest-secrets", f.digest, "", parseSecret)
	}
	return err
}

// parsedLines reads a file of secrets, each on a line of its own.
func parsedLines[T any](flag, name, advice string, parse func(string) (T, error)) ([]T, error) {
	lines, err := secretfile.Lines(name)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("--%s: %w", flag, err))
	}
	var all []T
	for _, line := range lines {
		one, err := parse(line.Text)
		if err != nil {
			return nil, cli.Usagef("--%s %s, line %d: %w%s", flag, name, line.Number, err, advice)
		}
		all = append(all, one)
	}
	return all, nil
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
