package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// operation is one of a document's operations, with its context.
type operation struct {
	method, path string
	does, item   *value // the operation, and its path item
}

func (o *operation) label() string { return o.method + " " + o.path }

// openAPI builds a request from an operation.
type openAPI struct {
	doc *value
	op  operation
	r   *Request
	// left limits the values that may still be built.
	left int
	// path holds pairs of a place in the path and its value.
	path, query []string
	err         error // the first one: nothing more is built
}

func (a *openAPI) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// OpenAPI reads one operation of an OpenAPI 3.0 or 3.1 document, in JSON or YAML. The operation is its operationId, or
// its method and path, such as "POST /invoices"; empty means the only POST. The server is the URL to use; a part of one
// of the document's, of its description, or its number from 1; or empty for the first. A server without a host in the
// document is relative to the given one.
//
// Values come from the examples of the document; otherwise they are generated from the schema: the required members and
// those with a value in the document, such as a default; or all members if there are none of those. Generated texts
// contain {{n}} or {{uuid}}, so that intents differ. References must stay within the document.
func OpenAPI(r io.Reader, op, server string) (*Request, error) {
	data, err := readAll(r, "the document")
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("the document cannot be read: %w", err)
	}
	switch version := doc.get("openapi").text(); {
	case doc.get("swagger") != nil:
		return nil, errors.New("the document is Swagger 2.0: convert it to OpenAPI 3")
	case !strings.HasPrefix(version, "3."):
		return nil, errors.New(`the document is not OpenAPI 3: it has no "openapi: 3…"`)
	}
	a := &openAPI{doc: doc, r: &Request{}, left: maxBuilt}
	if a.op, err = a.choose(op); err != nil {
		return nil, err
	}
	if err := a.request(server); err != nil {
		return nil, fmt.Errorf("%s (line %d): %w", a.op.label(), a.op.does.lineOf(), err)
	}
	return a.r, nil
}

func parseDocument(data []byte) (*value, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return parseJSON(data)
	}
	return parseYAML(data)
}

// unfilled matches a place of a path that is not a place of a template.
var unfilled = regexp.MustCompile(`(?:^|[^{])\{[^{}]+\}(?:$|[^}])`)

// methods returns those that a path item may have.
func methods() []string {
	return []string{
		http.MethodGet, http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodOptions, http.MethodHead,
		http.MethodPatch, http.MethodTrace,
	}
}

func (a *openAPI) choose(wanted string) (operation, error) {
	var all, fitting []operation
	paths := a.doc.get("paths")
	for _, path := range paths.names() {
		item, err := a.follow(paths.get(path))
		if err != nil {
			return operation{}, fmt.Errorf("the path %s: %w", path, err)
		}
		for _, method := range methods() {
			does := item.get(strings.ToLower(method))
			if !does.is(kindObject) {
				continue
			}
			o := operation{method: method, path: path, does: does, item: item}
			all = append(all, o)
			if wanted == "" && method == http.MethodPost || wanted != "" && o.named(wanted) {
				fitting = append(fitting, o)
			}
		}
	}
	if len(fitting) == 1 {
		return fitting[0], nil
	}
	if len(fitting) == 0 {
		fitting = all
	}
	var labels []string
	for i := range fitting {
		labels = append(labels, fitting[i].label())
	}
	if len(labels) == 0 {
		return operation{}, errors.New("the document has no operations under paths")
	}
	return operation{}, fmt.Errorf("%q does not select one operation: name one of %s", wanted, some(labels))
}

func (o *operation) named(name string) bool {
	method, path, ok := strings.Cut(name, " ")
	return o.does.get("operationId").text() == name ||
		ok && strings.EqualFold(method, o.method) && strings.TrimSpace(path) == o.path
}

// maxHops limits chains of references.
const maxHops = 32

// resolve is follow, and remembers its error.
func (a *openAPI) resolve(v *value) *value {
	v, err := a.follow(v)
	a.fail(err)
	return v
}

func (a *openAPI) follow(v *value) (*value, error) {
	for range maxHops {
		to := v.get("$ref")
		if !to.is(kindText) {
			return v, nil
		}
		pointer, ok := strings.CutPrefix(to.scalar, "#/")
		if !ok {
			return nil, fmt.Errorf("line %d: %q refers to another document: bundle the documents into one", to.line, to.scalar)
		}
		if decoded, err := url.PathUnescape(pointer); err == nil {
			pointer = decoded
		}
		next, err := a.doc.at(pointer)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q refers to nothing: fix the document", to.line, to.scalar)
		}
		v = next
	}
	return nil, fmt.Errorf("line %d: more than %d references in a chain", v.lineOf(), maxHops)
}

func (a *openAPI) request(server string) error {
	base, err := a.server(server)
	if err != nil {
		return err
	}
	r := a.r
	r.Template.Method = a.op.method
	if a.parameters(); a.err != nil {
		return a.err
	}
	path := strings.NewReplacer(a.path...).Replace(a.op.path)
	if left := unfilled.FindString(path); left != "" {
		return fmt.Errorf("the path has %s, but no parameter defines it: fix the document", left)
	}
	r.Template.URL = withQuery(strings.TrimSuffix(base, "/")+path, strings.Join(a.query, "&"))
	if a.body(); a.err != nil {
		return a.err
	}
	a.accept()
	a.security()
	return r.finish()
}

func (a *openAPI) server(wanted string) (string, error) {
	servers := a.op.does.get("servers")
	for _, v := range []*value{a.op.item.get("servers"), a.doc.get("servers")} {
		if len(servers.list()) == 0 {
			servers = v
		}
	}
	own := ""
	for i, s := range servers.list() {
		at := withVariables(s)
		fits := wanted == fmt.Sprint(i+1) || strings.Contains(at, wanted) || strings.Contains(s.get("description").text(), wanted)
		switch {
		case isAbsolute(wanted) && i == 0:
			own = at
		case !isAbsolute(wanted) && fits && isAbsolute(at):
			return at, nil
		case !isAbsolute(wanted) && fits:
			return "", fmt.Errorf("the document's server %q names no host: give the server, such as http://localhost:8080", at)
		}
	}
	switch {
	case !isAbsolute(wanted) && wanted == "":
		return "", errors.New("the document names no server: give one, such as http://localhost:8080")
	case !isAbsolute(wanted):
		return "", fmt.Errorf("the document has no server %q: give a URL, or one of %s", wanted, some(urlsOf(servers)))
	case own != "" && !isAbsolute(own):
		return strings.TrimSuffix(wanted, "/") + "/" + strings.Trim(own, "/"), nil
	case strings.Trim(pathOf(own), "/") != "" && pathOf(wanted) == "/":
		a.r.addNote("the document's server %s has a path, but the given one does not: add the path if the service needs it", own)
	}
	return wanted, nil
}

func isAbsolute(at string) bool { return strings.Contains(at, "://") }

func urlsOf(servers *value) []string {
	var all []string
	for _, s := range servers.list() {
		all = append(all, withVariables(s))
	}
	return all
}

func withVariables(server *value) string {
	at := server.get("url").text()
	variables := server.get("variables")
	for _, name := range variables.names() {
		at = strings.ReplaceAll(at, "{"+name+"}", variables.get(name).get("default").text())
	}
	return at
}

func (a *openAPI) accept() {
	responses := a.op.does.get("responses")
	for _, status := range responses.names() {
		response, err := a.follow(responses.get(status))
		if types := response.get("content").names(); err == nil && strings.HasPrefix(status, "2") && len(types) > 0 && !a.r.has("Accept") {
			a.r.add("Accept", types[0])
		}
	}
}

// security notes which credentials are needed. One of the alternatives is enough, and an empty one means that none are
// needed.
func (a *openAPI) security() {
	required := a.op.does.get("security")
	if required == nil {
		required = a.doc.get("security")
	}
	schemes := a.doc.get("components").get("securitySchemes")
	for _, alternative := range required.list() {
		var needs []string
		for _, name := range alternative.names() {
			scheme, err := a.follow(schemes.get(name))
			if err == nil {
				needs = append(needs, credential(name, scheme))
			}
		}
		if needed := strings.Join(needs, " and "); needed != "" && !slices.Contains(a.r.Auth, needed) {
			a.r.Auth = append(a.r.Auth, needed)
		}
	}
	if len(a.r.Auth) > 0 {
		a.r.addNote("the service requires credentials: %s", strings.Join(a.r.Auth, ", or "))
	}
}

// credential describes the credentials of a security scheme.
func credential(name string, scheme *value) string {
	switch kind := scheme.get("type").text(); {
	case kind == "apiKey":
		return fmt.Sprintf("the %s %s (%s)", scheme.get("in").text(), scheme.get("name").text(), name)
	case kind == "http" && strings.EqualFold(scheme.get("scheme").text(), "basic"):
		return fmt.Sprintf("the header Authorization: Basic … (%s)", name)
	case kind == "http", kind == "oauth2", kind == "openIdConnect":
		return fmt.Sprintf("the header Authorization: Bearer … (%s)", name)
	case kind == "mutualTLS":
		return fmt.Sprintf("a certificate of the client (%s)", name)
	}
	return name
}
