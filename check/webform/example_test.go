package webform_test

import (
	"fmt"
	"net/url"

	"github.com/semel-dev/semel/check/webform"
)

// A form is found on its page, filled in, and written as a browser sends it.
func ExampleParse() {
	at := &url.URL{Scheme: "http", Host: "localhost:9000", Path: "/new"}
	page, err := webform.Parse([]byte(`<form method=post action="/orders"><input type=hidden name=token value=t-1>
		<input name=amount value=1><button name=do value=order>Order</button></form>`), at)
	if err != nil {
		panic(err)
	}
	sent := page.Forms[0].Press(page.Base, nil)
	fields := webform.Overlay(sent.Fields, []webform.Field{{Name: "amount", Value: "5"}}, func(webform.Field) bool { return false })
	_, body := webform.Encode(sent.Coding, "", fields)
	fmt.Println(sent.Method, sent.URL, string(body))
	// Output: POST http://localhost:9000/orders token=t-1&amount=5&do=order
}
