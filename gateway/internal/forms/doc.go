// Package forms gives the forms and the scripts of web pages behind the gateway keys, although the
// application makes none. It puts a token into every page with a form
// whose rule says form, takes the token as the key when the form comes back, and
// removes it before the application sees the request.
//
// A form passes through these files, in this order:
//
//	page   page.go      holds the application's page, and decides whether it can be rewritten (content.go)
//	       insert.go    finds the route each form leads to, and inserts a token, the script and the notice
//	       reader.go    decides for which reader the tokens are made
//	form   forms.go     takes the gateway's own cookies and parameters out of the request (reader.go)
//	       key.go       verifies the token; the key is its id and the digest of the fields
//	       strip.go     removes the token from the body that the application reads
//	answer outcome.go   notes the outcome in a cookie for the next page, which shows a notice
//	       restore.go   turns a recorded page into a redirect to itself, where the rule says so
//
// Where a rule says page, pageguard.go writes a script into every page of the host, which gives a key in a header to what
// scripts of the page send. It takes the same way through page.go and insert.go; what comes back has an ordinary key.
//
// content.go decodes and encodes pages, policy.go fits the script into a
// Content-Security-Policy, mint.go shares the secret of the tokens among gateways and
// serves tokens to scripts, and inspect.go lists the forms of a page for operators.
//
// The package depends on the gateway through the interface [Gateway]. semelhttp runs
// between key.go and strip.go, so answers are recorded without tokens and every
// replay gets new ones.
package forms
