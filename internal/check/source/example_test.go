package source_test

import (
	"fmt"
	"strings"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/internal/check/source"
)

func ExampleCurl() {
	r, err := source.Curl(`curl -s http://localhost:8080/invoices \
  -H 'Idempotency-Key: 42' --json '{"text": "{{uuid}}"}'`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Template.Method, r.Template.URL, string(r.Template.Body))
	for _, note := range r.Notes {
		fmt.Println("note:", note)
	}
	// Output:
	// POST http://localhost:8080/invoices {"text": "{{uuid}}"}
	// note: left out, since it does not change the request: -s
	// note: the header Idempotency-Key was left out: every intent gets a key of its own
}

func ExampleCurlWords() {
	request, err := source.CurlWords([]string{"curl", "localhost:8080/invoices", "-d", "amount=1", "-d", "text={{n}}"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(request.Template.Method, request.Template.URL, string(request.Template.Body))
	// Output: POST http://localhost:8080/invoices amount=1&text={{n}}
}

func ExampleHAR() {
	recording := `{"log": {"entries": [
	  {"request": {"method": "GET", "url": "https://shop.example.com/", "headers": []}},
	  {"request": {"method": "POST", "url": "https://shop.example.com/orders", "headers": [],
	    "postData": {"mimeType": "application/json", "text": "{\"sku\": 7}"}}}]}}`
	r, err := source.HAR(strings.NewReader(recording), "/orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Template.Method, r.Template.URL, string(r.Template.Body))
	// Output: POST https://shop.example.com/orders {"sku": 7}
}

func ExampleOpenAPI() {
	document := `
openapi: 3.1.0
paths:
  /invoices:
    post:
      operationId: createInvoice
      requestBody:
        content:
          application/json:
            schema:
              required: [id, amount]
              properties:
                id: {type: string, format: uuid}
                amount: {type: integer, minimum: 100}
                currency: {type: string, default: EUR}`
	r, err := source.OpenAPI(strings.NewReader(document), "createInvoice", "http://localhost:8080")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Template.Method, r.Template.URL)
	fmt.Println(string(r.Template.Body))
	// Output:
	// POST http://localhost:8080/invoices
	// {"id":"{{uuid}}","amount":100,"currency":"EUR"}
}

func ExampleHTTPFile() {
	file := `@host = http://localhost:8080

### create
POST {{host}}/invoices
Content-Type: application/json

{"id": "{{$guid}}"}`
	r, err := source.HTTPFile(strings.NewReader(file), "create")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Template.Method, r.Template.URL, string(r.Template.Body))
	// Output: POST http://localhost:8080/invoices {"id": "{{uuid}}"}
}

func ExampleSuggest() {
	template := check.Template{Body: []byte(`{"order": "0192f0c1-2f4b-7c3d-8e11-5a0b9c8d7e6f", "text": "{{n}}"}`)}
	for _, hint := range source.Suggest(&template) {
		fmt.Println(hint)
	}
	// Output: /order looks like an id: write {{uuid}} instead, if every request has its own
}
