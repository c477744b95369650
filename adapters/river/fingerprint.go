package semelriver

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/riverqueue/river"

	"github.com/semel-dev/semel"
)

// fingerprintOf digests what a job is asked to do, in the encoding that River stores.
func fingerprintOf(args river.JobArgs) (semel.Fingerprint, error) {
	if args == nil {
		return semel.Fingerprint{}, errors.New("semelriver: the arguments are nil")
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		return semel.Fingerprint{}, fmt.Errorf("semelriver: encode the arguments: %w", err)
	}
	return semel.FingerprintOf([]byte(args.Kind()), encoded), nil
}
