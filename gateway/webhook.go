package gateway

import (
	"fmt"
	"os"
	"slices"

	"github.com/semel-dev/semel/internal/secretfile"
	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
	"github.com/semel-dev/semel/webhook"
)

// schemeOf returns the scheme that a rule names.
func schemeOf(rule *rules.Webhook) webhook.Scheme {
	all := []webhook.Scheme{webhook.Standard, webhook.Stripe, webhook.GitHub}
	return all[max(0, slices.Index(texts.Of(all, webhook.Scheme.String), rule.Scheme))]
}

// verifierOf returns the verifier of a rule, with its secrets; nil where the rule has none.
func verifierOf(rule *rules.Route) (*webhook.Verifier, error) {
	w := rule.Key.Webhook
	if w == nil {
		return nil, nil
	}
	secrets, err := secretsOf(w)
	if err != nil {
		return nil, err
	}
	return webhook.NewVerifier(&webhook.VerifierOptions{ // the warning about the retention is one of the rules
		Scheme: schemeOf(w), Secrets: secrets, Tolerance: w.Tolerance, Event: w.Event, Retention: rule.Policy.Retention, Redelivery: w.Redelivery,
	})
}

// secretsOf reads the secrets, which no error repeats.
func secretsOf(w *rules.Webhook) ([]string, error) {
	var secrets []string
	for _, name := range w.SecretEnv {
		secret := os.Getenv(name)
		if secret == "" {
			return nil, fmt.Errorf("the environment variable %s, which holds the secret of a webhook, is empty", name)
		}
		secrets = append(secrets, secret)
	}
	if w.SecretFile == "" {
		return secrets, nil
	}
	lines, err := secretfile.Lines(w.SecretFile)
	if err != nil {
		return nil, fmt.Errorf("the secrets of a webhook: %w", err)
	}
	return texts.Of(lines, func(l secretfile.Line) string { return l.Text }), nil
}
