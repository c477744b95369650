package mathematicians_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/semel-dev/semel/examples/mathematicians"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	server, err := mathematicians.Open(filepath.Join(dir, "m.db"), nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	ask := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}

	var handout struct{ Unique string }
	if err := json.Unmarshal(ask(http.MethodGet, "/api/mathematicians/new", "").Body.Bytes(), &handout); err != nil {
		panic(err)
	}
	for _, name := range []string{"Ada", "Ada", "Bob"} {
		w := ask(http.MethodPost, "/api/mathematicians", fmt.Sprintf(`{"unique":%q,"name":{"lastName":%q}}`, handout.Unique, name))
		fmt.Println(name, w.Code)
	}
	// Output:
	// Ada 201
	// Ada 201
	// Bob 422
}
