package rewrite_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/semel-dev/semel/gateway/internal/forms/rewrite"
)

// tokens puts a token into every form that posts.
type tokens struct{}

func (tokens) Form(f *rewrite.Form) []byte {
	if !strings.EqualFold(f.Method, http.MethodPost) {
		return nil
	}
	return fmt.Appendf(nil, `<input type="hidden" name="token" value="for %s">`, f.Action)
}

func (tokens) Submitter(*rewrite.Submitter) []byte { return nil }
func (tokens) Password(*rewrite.Submitter) []byte  { return nil }
func (tokens) Body() []byte                        { return nil }
func (tokens) Base(string)                         {}
func (tokens) Policy([]byte)                       {}
func (tokens) Head(bool)                           {}
func (tokens) End(bool) []byte                     { return nil }

func ExampleWriter() {
	w := rewrite.NewWriter(os.Stdout, tokens{}, nil)
	fmt.Fprint(w, `<form action="/search"><input name="q"></form>`+"\n")
	fmt.Fprint(w, `<form METHOD=post action=/inv`) // the page may come in any pieces
	fmt.Fprint(w, `oices><button>Create</button></form>`+"\n")
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(w.Stats().Inserted, "inserted")
	// Output:
	// <form action="/search"><input name="q"></form>
	// <form METHOD=post action=/invoices><input type="hidden" name="token" value="for /invoices"><button>Create</button></form>
	// 1 inserted
}

func ExampleSupported() {
	fmt.Println(rewrite.Supported("windows-1252"), rewrite.Supported("UTF-16LE"))
	// Output: true false
}
