package paste_test

import "testing"

// The line of web/README.md serves the script that its form loads.
func TestWebReadme(t *testing.T) {
	t.Parallel()
	const before = `package main

import (
	"log"
	"net/http"

	"github.com/semel-dev/semel/web"
)

func main() {
	mux := http.NewServeMux()
`
	dir := module(t)
	line := only(t, "web/README.md", "semel", "go")[0]
	write(t, dir, "main.go", before+line+"\nlog.Fatal(http.ListenAndServe(\"127.0.0.1:8081\", mux))\n}\n")
	output, err := paste(t, dir, "go run -mod=mod . &\nuntil curl -so /dev/null http://127.0.0.1:8081/; do sleep 0.1; done\n"+
		"curl -s -o script -D - http://127.0.0.1:8081/semel/guard.js\n")
	if err != nil {
		t.Errorf("the commands failed: %v", err)
	}
	inOrder(t, output, "HTTP/1.1 200", "Content-Type: text/javascript")
}
