package check

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/semel-dev/semel/check/wire"
)

// KeyPlace says where the key of an intent goes.
type KeyPlace struct {
	// In is the part of the request: "header", "json", "form" or "query"; "template"
	// means where {{key}} or {{minted}} is, and "nowhere" a service without keys.
	In   string
	Name string // of the header, query parameter or form field; a JSON pointer
	// Quoted writes a header's value as a String of RFC 8941: "abc".
	Quoted bool
}

// The places for keys.
const (
	keyInHeader   = "header"
	keyInJSON     = "json"
	keyInForm     = "form"
	keyInQuery    = "query"
	keyInTemplate = "template" // wherever {{key}} or {{minted}} is
	keyNowhere    = "nowhere"  // the service has no keys
)

func (k KeyPlace) put(r *wire.Request, key string) error {
	switch k.In {
	case keyInHeader:
		r.Set(k.Name, k.spell(key))
	case keyInQuery:
		query := r.URL.Query()
		query.Set(k.Name, key)
		r.URL.RawQuery = query.Encode()
	case keyInForm:
		form, err := url.ParseQuery(string(r.Body))
		if err != nil {
			return fmt.Errorf("the body is not a form, so the key cannot go into its field %q: %w", k.Name, err)
		}
		form.Set(k.Name, key)
		r.Body = []byte(form.Encode())
	case keyInJSON:
		body, err := withMember(r.Body, k.Name, key)
		if err != nil {
			return err
		}
		r.Body = body
	case keyInTemplate, keyNowhere:
	}
	return nil
}

func (k KeyPlace) spell(key string) string {
	if !k.Quoted {
		return key
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// withMember sets a member of a JSON object, named by a pointer of one step.
func withMember(body []byte, pointer, value string) ([]byte, error) {
	name, ok := strings.CutPrefix(pointer, "/")
	if !ok || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("the pointer %q does not name a member of the outermost object, such as /request_id", pointer)
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, fmt.Errorf("the body is not a JSON object, so the key cannot go into %s: %w", pointer, err)
	}
	written, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)] = written
	return json.Marshal(members)
}
