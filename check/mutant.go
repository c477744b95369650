package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"mime"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/semel-dev/semel/check/webform"
	"github.com/semel-dev/semel/check/wire"
)

var errNoBody = errors.New("the request has no body")

// mutant returns another wish under the key of in: a request that is as valid and differs only in its body. It takes
// the body of [Config.OtherBody], or the template's with fresh values, or else the first one with one value changed.
func (p *probe) mutant(in *intent) (*intent, error) {
	was, err := p.request(in)
	if err != nil {
		return nil, err
	}
	other := in.renamed(in.key)
	other.url = was.URL
	if given := p.run.config.OtherBody; given != nil {
		other.body = []byte(in.values.Fill(string(given.Body)))
		other.header = given.Header
		return other, nil
	}
	if len(was.Body) == 0 {
		return nil, errNoBody
	}
	maps.Copy(other.values, p.run.freshValues(in.user))
	if now, err := p.request(other); err == nil && !bytes.Equal(now.Body, was.Body) {
		return other, nil
	}
	other.values = in.values
	other.body, err = alteredBody(was, in.key)
	return other, err
}

// alteredBody changes one value of a body, but not the key.
func alteredBody(r *wire.Request, key string) ([]byte, error) {
	media, parameters, _ := mime.ParseMediaType(r.Value("Content-Type"))
	switch _, isJSON := decodeJSON(r.Body); {
	case isJSON:
		return alteredJSON(r.Body, key)
	case media == webform.URLEncoded:
		return alteredForm(r.Body, key)
	case strings.HasPrefix(media, "multipart/"):
		end := []byte("\r\n--" + parameters["boundary"] + "--")
		if at := bytes.LastIndex(r.Body, end); at >= 0 {
			return slices.Concat(r.Body[:at], []byte("x"), r.Body[at:]), nil
		}
	}
	return append(bytes.Clone(r.Body), 'x'), nil
}

func alteredForm(body []byte, key string) ([]byte, error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fmt.Errorf("the body is not a form: %w", err)
	}
	var best spot
	for _, name := range slices.Sorted(maps.Keys(form)) {
		s := spot{place: name, value: form.Get(name)}
		if !strings.Contains(s.value, key) && fitness(s) > fitness(best) {
			best = s
		}
	}
	if fitness(best) == 0 {
		form.Set("semel_check", "1")
	} else {
		form.Set(best.place, alteredText(best.value))
	}
	return []byte(form.Encode()), nil
}

// alteredJSON changes the value whose change a service is most likely to accept.
func alteredJSON(body []byte, key string) ([]byte, error) {
	doc, _ := decodeJSON(body)
	var best spot
	for _, s := range jsonSpots(nil, "", "", doc) {
		if !strings.Contains(s.value, key) && fitness(s) > fitness(best) {
			best = s
		}
	}
	if object, ok := doc.(map[string]any); ok && fitness(best) == 0 {
		object["semel_check"] = 1
		return json.Marshal(object)
	}
	return json.Marshal(replaced(doc, "", best.place))
}

// fitness orders values by how likely a service is to accept a change: a number, a text of several words, any other
// text, and then times, links and short codes. Zero means that the value cannot be changed.
func fitness(s spot) int {
	_, isNumber := new(big.Int).SetString(s.value, 10)
	switch {
	case s.bare && isNumber:
		return 4
	case s.bare || s.value == "":
		return 0
	case s.isTime() || strings.ContainsAny(s.value, "@:/"):
		return 1
	case strings.ContainsFunc(s.value, unicode.IsSpace) || isNumber:
		return 3
	case len(s.value) > 4:
		return 2
	}
	return 1
}

// replaced returns the document with the value at the place altered.
func replaced(doc any, here, place string) any {
	switch node := doc.(type) {
	case map[string]any:
		for name, value := range node {
			node[name] = replaced(value, here+"/"+escapeStep(name), place)
		}
	case []any:
		for i, value := range node {
			node[i] = replaced(value, fmt.Sprintf("%s/%d", here, i), place)
		}
	case json.Number:
		if here == place {
			return json.Number(alteredText(node.String()))
		}
	case string:
		if here == place {
			return alteredText(node)
		}
	}
	return doc
}

// alteredText adds one to a whole number, and a letter to anything else.
func alteredText(value string) string {
	if n, ok := new(big.Int).SetString(value, 10); ok {
		return n.Add(n, big.NewInt(1)).String()
	}
	return value + "a"
}

// reordered writes a JSON object with its members in the opposite order and with other white space, so that it means
// the same. ok is false if the body is not an object.
func reordered(body []byte) (other []byte, ok bool) {
	in := json.NewDecoder(bytes.NewReader(body))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	var members []string
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, false
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, false
		}
		written, err := json.Marshal(name)
		if err != nil {
			return nil, false
		}
		members = append(members, string(written)+" : "+string(value))
	}
	slices.Reverse(members)
	return []byte("{ \n\t" + strings.Join(members, " ,\n\t") + "\n}\n"), json.Valid(body)
}
