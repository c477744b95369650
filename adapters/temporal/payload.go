package semeltemporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/semel-dev/semel"
)

// fingerprint digests what is asked for.
func fingerprint(c converter.DataConverter, kind string, args []any) (semel.Fingerprint, error) {
	payloads, err := c.ToPayloads(args...)
	if err != nil {
		return semel.Fingerprint{}, fmt.Errorf("semeltemporal: encode the arguments: %w", err)
	}
	parts := [][]byte{[]byte(kind)}
	for _, p := range payloads.GetPayloads() {
		encoding := p.GetMetadata()[converter.MetadataEncoding]
		data := p.GetData()
		// JSON of protobuf has spaces that differ between builds of a program.
		if compact := (bytes.Buffer{}); strings.HasPrefix(string(encoding), "json/") && json.Compact(&compact, data) == nil {
			data = compact.Bytes()
		}
		parts = append(parts, encoding, data)
	}
	return semel.FingerprintOf(parts...), nil
}

// OutcomeOf returns the result of an activity in the form that [Activities] keeps, for a Policy.Reconcile which found that it happened. c is
// [Options.DataConverter] or nil.
func OutcomeOf(result any, c converter.DataConverter) ([]byte, error) {
	if c == nil {
		c = converter.GetDefaultDataConverter()
	}
	kept, err := encode(c, result)
	if err != nil {
		return nil, err
	}
	return semel.OutcomeOf(kept)
}

// encode returns a result to keep; nil for none.
func encode(c converter.DataConverter, result any) ([]byte, error) {
	if result == nil {
		return nil, nil
	}
	payload, err := c.ToPayload(result)
	if err == nil {
		var kept []byte
		if kept, err = proto.Marshal(payload); err == nil {
			return kept, nil
		}
	}
	return nil, fmt.Errorf("semeltemporal: the result cannot be kept: %w", err)
}

// decode returns a kept result, which the worker's converter passes on or encrypts.
func decode(kept []byte) (any, error) {
	if kept == nil {
		return nil, nil
	}
	payload := &commonpb.Payload{}
	if err := proto.Unmarshal(kept, payload); err != nil {
		return nil, refusal(fmt.Errorf("%w: %w", semel.ErrUnreadable, err), nil)
	}
	return converter.NewRawValue(payload), nil
}
