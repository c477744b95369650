package adminapi

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/cli/operatorview"
)

// inRequest returns the name of a verdict's field in a request.
func inRequest(f operatorview.Field) string { return `"` + string(f) + `"` }

// cancelKey leaves a tombstone for an intent, whether or not it has arrived.
func (a *API) cancelKey(ctx context.Context, c *call) (any, error) {
	c.as = semel.StateCancelled.String()
	key, reason := semel.Key{Scope: c.query["scope"], Name: c.query["name"]}, c.query["reason"]
	if err := operatorview.CheckReason(reason, inRequest); err != nil {
		return nil, err
	}
	if err := (semel.Key{Scope: key.Scope, Name: "any"}).Validate(); err != nil {
		return nil, badField("scope", "%v", err)
	}
	if err := key.Validate(); err != nil {
		return nil, badField("name", "%v", err)
	}
	digest := a.guard.Digest(key)
	c.digest = digest.String()
	seen, err := a.seen(ctx, c, digest, true)
	if err != nil {
		return nil, err
	}
	rec, err := a.records.Cancel(ctx, c.by, key, seen, reason)
	if err != nil {
		return nil, err
	}
	c.digest = rec.Digest.String() // while a secret is replaced the digest may be another
	return operatorview.ViewRecord(&rec), nil
}

// cancelDigest leaves a tombstone for an intent that is unknown.
func (a *API) cancelDigest(ctx context.Context, c *call) (any, error) {
	c.as = semel.StateCancelled.String()
	digest, err := c.record()
	if err != nil {
		return nil, err
	}
	reason := c.query["reason"]
	if err := operatorview.CheckReason(reason, inRequest); err != nil {
		return nil, err
	}
	seen, err := a.seen(ctx, c, digest, false)
	if err != nil {
		return nil, err
	}
	rec, err := a.records.Resolve(ctx, c.by, digest, seen, semel.Settlement{State: semel.StateCancelled, Note: reason})
	if err != nil && rec.State != semel.StateCancelled { // it is cancelled already
		return nil, err
	}
	return operatorview.ViewRecord(&rec), nil
}

// resolve settles an unknown intent.
func (a *API) resolve(ctx context.Context, c *call) (any, error) {
	digest, err := c.record()
	if err != nil {
		return nil, err
	}
	verdict, err := a.readVerdict(c)
	if err != nil {
		return nil, err
	}
	settlement, err := verdict.Settlement()
	if err != nil {
		return nil, err
	}
	c.as = settlement.State.String()
	seen, err := a.seen(ctx, c, digest, false)
	if err != nil {
		return nil, err
	}
	if verdict.Result != nil {
		rec, err := a.guard.Store().Lookup(ctx, digest) // its scope and name, which no later attempt changes
		if err != nil {
			return nil, fmt.Errorf("look up record: %w", err)
		}
		if err := verdict.Keep(&settlement, &rec); err != nil {
			return nil, err
		}
	}
	rec, err := a.records.Resolve(ctx, c.by, digest, seen, settlement)
	if err != nil {
		return nil, err
	}
	return operatorview.ViewRecord(&rec), nil
}

// readVerdict reads the body.
func (a *API) readVerdict(c *call) (*operatorview.RecordVerdict, error) {
	v := &operatorview.RecordVerdict{Naming: inRequest}
	var (
		retention  string
		text, code *string
	)
	err := readObject(c.Request, a.maxBody(), map[string]any{
		string(operatorview.FieldAs): &v.As, string(operatorview.FieldReason): &v.Reason, string(operatorview.FieldRetention): &retention,
		string(operatorview.FieldStatus): &v.Status, string(operatorview.FieldLocation): &v.Location, string(operatorview.FieldContentType): &v.ContentType,
		string(operatorview.FieldBody): &text, "body_base64": &code, string(operatorview.FieldNoBody): &v.NoBody,
		string(operatorview.FieldResult): &v.Result,
	})
	if err != nil {
		return nil, err
	}
	if retention != "" {
		if v.Retention, err = time.ParseDuration(retention); err != nil || v.Retention == 0 {
			return nil, badField(string(operatorview.FieldRetention), "%q is a duration, such as \"24h\"", operatorview.FieldRetention)
		}
	}
	if _, err := a.bounded(v.Result, string(operatorview.FieldResult)); err != nil {
		return nil, err
	}
	switch {
	case text != nil && code != nil:
		return nil, badField("body_base64", "%q and %q exclude each other", "body", "body_base64")
	case text != nil:
		v.Body = func() ([]byte, error) { return a.bounded([]byte(*text), "body") }
	case code != nil:
		body, err := base64.StdEncoding.Strict().DecodeString(*code)
		if err != nil {
			return nil, badField("body_base64", "%q is not base64", "body_base64")
		}
		v.Body = func() ([]byte, error) { return a.bounded(body, "body_base64") }
	}
	return v, nil
}

// bounded refuses an answer's body that is larger than what is kept.
func (a *API) bounded(body []byte, field string) ([]byte, error) {
	most := a.guard.Policy().MaxOutcomeBytes
	if len(body) <= most {
		return body, nil
	}
	r := refuse(http.StatusRequestEntityTooLarge, "body-too-large", "The answer is too large",
		fmt.Sprintf("Nothing was done: it has %d bytes, at most %d are kept. The body of an HTTP answer can be left out with \"no_body\".", len(body), most))
	r.Extra = map[string]any{"field": field}
	return nil, r
}
