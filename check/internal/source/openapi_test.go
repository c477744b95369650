package source_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/check/wire"
)

const invoices = `
openapi: 3.1.0
info: {title: Invoices, version: "1"}
servers:
  - url: "{scheme}://api.example.com/{version}"
    description: production
    variables:
      scheme: {default: https, enum: [https, http]}
      version: {default: v1}
  - url: http://localhost:8080
    description: your own machine
security: [{bearer: []}]
paths:
  /customers/{customer}/invoices:
    parameters:
      - {name: customer, in: path, required: true, schema: {type: integer, minimum: 7}}
      - {name: lang, in: query, required: true, example: en, schema: {type: string}}
    get: {responses: {"200": {description: all}}}
    post:
      operationId: createInvoice
      parameters:
        - {name: Idempotency-Key, in: header, required: true, schema: {type: string, format: uuid}}
        - {name: X-Request-Id, in: header, required: true, schema: {type: string, format: uuid}}
        - {name: expand, in: query, required: true, schema: {type: array, items: {type: string, enum: [lines, tax]}, minItems: 2}}
        - {name: filter, in: query, style: deepObject, example: {a: 1, b: x y}}
        - {name: theme, in: cookie, example: dark}
        - {name: lang, in: query, example: sv}
      requestBody:
        required: true
        content:
          application/json:
            schema: {$ref: "#/components/schemas/Invoice"}
      responses:
        "201": {description: made, content: {application/json: {}}}
  /notes:
    post:
      servers: [{url: /base/}]
      security: []
      requestBody: {$ref: "#/components/requestBodies/Note"}
  /examples:
    put:
      security: [{}, {basic: []}, {key: [], bearer: []}]
      requestBody:
        content:
          application/xml: {example: "<a/>"}
          application/merge-patch+json:
            examples:
              none: {summary: nothing}
              one: {$ref: "#/components/examples/one"}
components:
  securitySchemes:
    bearer: {type: http, scheme: bearer}
    basic: {type: http, scheme: basic}
    key: {type: apiKey, in: header, name: X-Api-Key}
  examples:
    one: {value: {b: [1, 2.50, null, true, "<é>"], a: {}}}
  requestBodies:
    Note: {content: {text/plain: {schema: {type: string, maxLength: 3}}}}
  schemas:
    Invoice:
      allOf:
        - $ref: "#/components/schemas/Base"
        - type: object
          required: [lines, when, customer, discount]
          properties:
            lines: {type: array, minItems: 2, items: {$ref: "#/components/schemas/Line"}}
            when: {type: string, format: date-time}
            due: {type: string, format: date}
            currency: {type: string, default: EUR}
            parent: {$ref: "#/components/schemas/Invoice"}
            discount: {oneOf: [{$ref: "#/components/schemas/Percent"}, {type: "null"}], discriminator: {propertyName: kind, mapping: {pct: "#/components/schemas/Percent"}}}
            customer: {type: [string, "null"], format: email}
    Base:
      type: object
      required: [id, number]
      properties:
        id: {type: string, format: uuid}
        number: {type: string, pattern: "^INV-[0-9]{4}$"}
        created: {type: string, format: date-time, readOnly: true, example: never}
    Line:
      type: object
      required: [text, amount, tax, paid, rate]
      properties:
        text: {type: string, minLength: 25}
        amount: {type: number, exclusiveMinimum: 0, maximum: 0.75}
        tax: {type: integer, multipleOf: 5, minimum: 6}
        rate: {type: integer, maximum: -3}
        paid: {type: boolean}
        children: {type: array, items: {$ref: "#/components/schemas/Line"}}
    Percent:
      type: object
      required: [kind, percent]
      properties:
        kind: {type: string}
        percent: {type: integer}
`

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	const line = `{"text":"semel-{{n}}xxx","amount":0.75,"tax":10,"rate":-3,"paid":true}`
	const create = "POST https://api.example.com/v1/customers/7/invoices?lang=sv&expand=lines&expand=lines&filter%5Ba%5D=1&filter%5Bb%5D=x+y\n" +
		"X-Request-Id: {{uuid}}\nCookie: theme=dark\nContent-Type: application/json\nAccept: application/json\n\n" +
		`{"id":"{{uuid}}","number":"INV-1111","lines":[` + line + `,` + line + `],"when":"{{now}}","currency":"EUR","discount":{"kind":"pct","percent":1},` +
		`"customer":"semel-{{n}}@example.com"}`
	for _, c := range []struct{ operation, server, want string }{
		{"createInvoice", "", create},
		{"post /customers/{customer}/invoices", "production", create},
		{"createInvoice", "2", strings.Replace(create, "https://api.example.com/v1", "http://localhost:8080", 1)},
		{"createInvoice", "https://test.example.com/v2/", strings.Replace(create, "https://api.example.com/v1", "https://test.example.com/v2", 1)},
		{"GET /customers/{customer}/invoices", "2", "GET http://localhost:8080/customers/7/invoices?lang=en"},
		{"POST /notes", "http://localhost:1", "POST http://localhost:1/base/notes\nContent-Type: text/plain\n\nxxx"},
		{
			"PUT /examples", "localhost",
			"PUT http://localhost:8080/examples\nContent-Type: application/merge-patch+json\n\n" + `{"b":[1,2.50,null,true,"<é>"],"a":{}}`,
		},
	} {
		r, err := source.OpenAPI(strings.NewReader(invoices), c.operation, c.server)
		wants(t, r, err, c.want)
	}
}

func TestOpenAPIReports(t *testing.T) {
	t.Parallel()
	r, err := source.OpenAPI(strings.NewReader(invoices), "createInvoice", "http://localhost:8080")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire.Field{Name: "Idempotency-Key"}, r.Key); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the header Authorization: Bearer … (bearer)"}, r.Auth); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"Authorization: Bearer", "the key of the intent in the header Idempotency-Key", "the customer in the path is made up", "has a path, but the given one does not"} {
		noted(t, r, text)
	}
	if r.Template.Validate() != nil || !r.Template.Varies() {
		t.Error("two intents would be alike")
	}
	given := strings.Replace(invoices, "minimum: 7", "default: 8", 1)
	r, err = source.OpenAPI(strings.NewReader(given), "createInvoice", "2")
	if err != nil || strings.Contains(strings.Join(r.Notes, "\n"), "made up") {
		t.Errorf("what the document gives is not made up: %v, %q", err, r.Notes)
	}
	r, err = source.OpenAPI(strings.NewReader(invoices), "PUT /examples", "2")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the header Authorization: Basic … (basic)", "the header X-Api-Key (key) and the header Authorization: Bearer … (bearer)"}
	if diff := cmp.Diff(want, r.Auth); diff != "" {
		t.Error(diff)
	}
}

// payments is like the document of a payment service: JSON, forms and their encodings.
const payments = `{
  "openapi": "3.0.0",
  "servers": [{"url": "https://api.stripe.example/"}],
  "paths": {
    "/v1/charges": {"post": {"operationId": "PostCharges", "requestBody": {"content": {"application/x-www-form-urlencoded": {
      "encoding": {"metadata": {"explode": true, "style": "deepObject"}},
      "schema": {"type": "object", "required": ["amount", "metadata", "items", "card"], "properties": {
        "amount": {"type": "integer"},
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}, "example": {"order id": "6735"}},
        "items": {"type": "array", "items": {"type": "string", "enum": ["a&b"]}},
        "card": {"anyOf": [{"type": "object", "properties": {"number": {"type": "string", "maxLength": 5}}}, {"type": "string"}]},
        "expand": {"type": "array", "items": {"type": "string", "maxLength": 5000}}
      }}}}}}},
    "/v1/files": {"post": {"operationId": "PostFiles", "servers": [{"url": "https://files.stripe.example/"}], "requestBody": {"content": {"multipart/form-data": {
      "encoding": {"file": {"contentType": "image/png, image/jpeg"}},
      "schema": {"required": ["file", "meta", "purpose"], "properties": {
        "file": {"type": "string", "format": "binary"},
        "meta": {"type": "object", "properties": {"a": {"type": "boolean"}}},
        "purpose": {"type": "string", "enum": ["logo"]}}}}}}}}
  }
}`

func TestOpenAPIForms(t *testing.T) {
	t.Parallel()
	r, err := source.OpenAPI(strings.NewReader(payments), "PostCharges", "")
	wants(t, r, err, "POST https://api.stripe.example/v1/charges\nContent-Type: application/x-www-form-urlencoded\n\n"+
		"amount=1&metadata%5Border+id%5D=6735&items=a%26b&card=%7B%22number%22%3A%22xxxxx%22%7D")
	r, err = source.OpenAPI(strings.NewReader(payments), "PostFiles", "")
	if err == nil {
		withoutBoundary(r)
	}
	wants(t, r, err, "POST https://files.stripe.example/v1/files\nContent-Type: multipart/form-data; boundary=------------------------BOUNDARY\n\n"+
		"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file.bin\"\r\nContent-Type: image/png\r\n\r\nsemel-{{n}}\r\n"+
		"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"meta\"\r\nContent-Type: application/json\r\n\r\n{\"a\":true}\r\n"+
		"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nlogo\r\n--------------------------BOUNDARY--\r\n")
}

// post returns a document with one POST, whose JSON body has the schema.
func post(schema string) string {
	return "openapi: 3.0.3\nservers: [{url: 'http://a'}]\npaths:\n  /x:\n    post:\n      requestBody: {content: {application/json: {schema: " +
		schema + "}}}\ncomponents:\n  schemas:\n    Loop: {type: object, required: [next], properties: {next: {$ref: '#/components/schemas/Loop'}}}\n" +
		"    Self: {allOf: [{$ref: '#/components/schemas/Self'}]}\n    Round: {$ref: '#/components/schemas/Round'}\n" +
		"    Twice: {allOf: [{$ref: '#/components/schemas/Twice'}, {$ref: '#/components/schemas/Twice'}]}\n"
}

func TestOpenAPIMakesValuesUp(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{type: string}`:                                                             `"semel-{{n}}"`,
		`{type: string, maxLength: 20}`:                                              `"{{n}}"`,
		`{type: string, maxLength: 3}`:                                               `"xxx"`,
		`{type: string, minLength: 8, maxLength: 9}`:                                 `"xxxxxxxx"`,
		`{type: string, format: uuid}`:                                               `"{{uuid}}"`,
		`{type: string, format: uuid, example: u}`:                                   `"u"`,
		`{type: string, format: date}`:                                               `"2030-01-15"`,
		`{type: string, format: byte}`:                                               `"c2VtZWw="`,
		`{type: string, pattern: '^\d{3}-[A-Z]+$', minLength: 8}`:                    "\"111-AAAA\"",
		`{type: string, pattern: 'a|b'}`:                                             `"a"`,
		`{type: string, pattern: '[!-/]', minLength: 3}`:                             `"-xx"`,
		`{type: integer}`:                                                            `1`,
		`{type: integer, minimum: 3, exclusiveMinimum: true}`:                        `4`,
		`{type: number, minimum: -5, maximum: 0.25}`:                                 `0.25`,
		`{type: number, multipleOf: 0.5, minimum: 1.2}`:                              `1.5`,
		`{type: integer, exclusiveMaximum: 1}`:                                       `0`,
		`{enum: [null, x]}`:                                                          `"x"`,
		`{const: 5}`:                                                                 `5`,
		`{type: array}`:                                                              `[]`,
		`{type: array, maxItems: 0, items: {}}`:                                      `[]`,
		`{items: {type: boolean}, minItems: 2}`:                                      `[true,true]`,
		`{type: object}`:                                                             `{}`,
		`{properties: {a: {type: string, default: x}, b: {type: string}}}`:           `{"a":"x"}`,
		`{properties: {b: {type: boolean}, c: {type: boolean, readOnly: true}}}`:     `{"b":true}`,
		`{type: object, required: [a], properties: {a: {nullable: true}}}`:           `{"a":"semel-{{n}}"}`,
		`{anyOf: [{type: 'null'}, {type: integer}]}`:                                 `1`,
		`{required: [id, n], properties: {id: {type: integer}, n: {type: integer}}}`: `{"id":{{n}},"n":1}`,
		`{properties: {id: {type: integer, format: int32}}}`:                         `{"id":1}`,
		`{$ref: '#/components/schemas/Loop'}`:                                        `{"next":null}`,
		`{$ref: '#/paths/~1x/post/requestBody/content/application~1json/example'}`:   ``,
	} {
		r, err := source.OpenAPI(strings.NewReader(post(schema)), "", "")
		if want == "" {
			refused(t, r, err, "refers to nothing")
			continue
		}
		t.Log(schema)
		wants(t, r, err, "POST http://a/x\nContent-Type: application/json\n\n"+want)
	}
}

func TestOpenAPIPatternsAreMatched(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		`^[A-Z]{2}\d{2}[A-Z0-9]{1,30}$`, `^\+[1-9]\d{1,14}$`, `^(EUR|SEK)$`, `^[^a-z\s]+@[^@]+\.\w{2,}$`, `^#?([a-f0-9]{6}|[a-f0-9]{3})$`, `.*`, `^\p{Lu}\S*$`,
	} {
		r, err := source.OpenAPI(strings.NewReader(post(`{type: string, pattern: '`+pattern+`'}`)), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if made := strings.Trim(string(r.Template.Body), `"`); !regexp.MustCompile(pattern).MatchString(made) {
			t.Errorf("%q does not match %s", made, pattern)
		}
	}
	r, err := source.OpenAPI(strings.NewReader(post(`{type: string, pattern: '(?=x)x'}`)), "", "")
	if err != nil {
		t.Fatal(err)
	}
	noted(t, r, "no text was found for body, whose pattern is (?=x)x")
}

func TestOpenAPIRefuses(t *testing.T) {
	t.Parallel()
	const bomb = "openapi: 3.0.0\nx: &a [x,x,x,x,x,x,x,x,x,x]\n"
	var aliases strings.Builder
	for i := range 20 {
		name, before := string(rune('b'+i)), string(rune('a'+i))
		aliases.WriteString("y" + name + ": &" + name + " [" + strings.Repeat("*"+before+",", 9) + "*" + before + "]\n")
	}
	for _, c := range []struct{ text, operation, server, want string }{
		{"", "", "", "empty"},
		{"a: [", "", "", "line 1"},
		{"{\n\"a\":", "", "", "line 2"},
		{"swagger: '2.0'", "", "", "Swagger 2.0"},
		{"openapi: 2.9.0", "", "", "not OpenAPI 3"},
		{"openapi: 3.0.0", "", "", "no operations"},
		{invoices, "", "", "POST /customers/{customer}/invoices, POST /notes"},
		{invoices, "nothing", "", "GET /customers/{customer}/invoices, POST"},
		{invoices, "POST /notes", "", "names no host"},
		{invoices, "createInvoice", "staging", `no server "staging"`},
		{post(`{$ref: 'other.yaml#/a'}`), "", "", "refers to another document"},
		{post(`{$ref: '#/components/schemas/Self'}`), "", "", "contains itself"},
		{post(`{$ref: '#/components/schemas/Twice'}`), "", "", "contains itself"},
		{post(`{$ref: '#/components/schemas/Round'}`), "", "", "references in a chain"},
		{"openapi: 3.0.0\nservers: [{url: 'http://a'}]\npaths: {'/x/{id}': {post: {}}}", "", "", "no parameter defines"},
		{"openapi: 3.0.0\npaths: {/x: {post: {}}}", "", "", "names no server"},
		{"openapi: 3.0.0\nservers: [{url: 'http://a'}]\npaths: {/x: {post: {requestBody: {content: {application/xml: {schema: {type: object}}}}}}}", "", "", "cannot be generated"},
		{"a: " + strings.Repeat("[", 100_000), "", "", "nested deeper"},
		{"{\"a\":" + strings.Repeat("[", 100_000), "", "", "nested deeper"},
		{strings.Repeat("- ", 100_000) + "a", "", "", "nested deeper"},
		{"a: *b", "", "", "no anchor"},
		{
			bomb + aliases.String() + "servers: [{url: 'http://a'}]\npaths: {/x: {post: {requestBody: {content: {application/json: {example: *u}}}}}}", "", "",
			"larger than 16 MiB",
		},
	} {
		r, err := source.OpenAPI(strings.NewReader(c.text), c.operation, c.server)
		refused(t, r, err, c.want)
	}
}

func TestOpenAPIMergesKeysOfYAML(t *testing.T) {
	t.Parallel()
	const text = "openapi: 3.0.0\nservers: [{url: 'http://a'}]\nx-base: &base {b: 1, a: 2}\n" +
		"paths: {/x: {post: {requestBody: {content: {application/json: {example: {b: 4, <<: *base, a: !!str 3, 200: .5}}}}}}}"
	r, err := source.OpenAPI(strings.NewReader(text), "", "")
	wants(t, r, err, "POST http://a/x\nContent-Type: application/json\n\n"+`{"b":4,"a":3,"200":0.5}`)
}

func FuzzOpenAPI(f *testing.F) {
	f.Add(invoices, "createInvoice")
	f.Add(payments, "PostFiles")
	f.Add(post(`{$ref: '#/components/schemas/Loop'}`), "")
	f.Fuzz(func(t *testing.T, text, operation string) {
		r, err := source.OpenAPI(strings.NewReader(text), operation, "http://localhost")
		if err != nil {
			return
		}
		if err := r.Template.Validate(); err != nil {
			t.Errorf("a request that cannot be sent: %v", err)
		}
		if len(r.Template.Body) > source.MaxBytes {
			t.Errorf("the body has %d bytes", len(r.Template.Body))
		}
	})
}
