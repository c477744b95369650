package semeltemporal_test

import (
	"bytes"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
)

// spacious puts spaces into JSON, as another build of a program does.
type spacious struct{ converter.PayloadConverter }

// ToPayload implements converter.PayloadConverter.
func (s spacious) ToPayload(value any) (*commonpb.Payload, error) {
	p, err := s.PayloadConverter.ToPayload(value)
	if p != nil {
		p.Data = bytes.ReplaceAll(p.GetData(), []byte(`":`), []byte(`" :  `))
	}
	return p, err
}
