package formguard_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/semel-dev/semel/internal/formguard"
)

// A page gets a token, and the form that comes back proves where it is from.
func ExampleMinter() {
	minter, err := formguard.NewMinter([][]byte{[]byte("a secret of 16 bytes or more")}, nil)
	if err != nil {
		panic(err)
	}
	token := minter.Mint("invoices", "session 7")
	_, by, err := minter.Verify(token, "invoices", 24*time.Hour, "session 7")
	fmt.Println(by, err)
	_, _, err = minter.Verify(token, "invoices", 24*time.Hour, "session 8")
	fmt.Println(errors.Is(err, formguard.ErrForeign))
	// Output:
	// 0 <nil>
	// true
}

// Two sendings of one form have one digest, although a field against forged
// requests changed in between; other content has another.
func ExampleScan() {
	digest := func(body string) [32]byte {
		result, err := formguard.Scan(strings.NewReader(body), "application/x-www-form-urlencoded", "", nil)
		if err != nil {
			panic(err)
		}
		return result.Digest
	}
	first := digest("csrf_token=1&amount=12")
	fmt.Println(first == digest("csrf_token=2&amount=12"), first == digest("csrf_token=2&amount=13"))
	// Output:
	// true false
}

// The application never sees the token.
func ExampleStrip() {
	body := strings.NewReader("_semel=sm1.abc&amount=12&note=")
	form, err := io.ReadAll(formguard.Strip(body, "application/x-www-form-urlencoded", formguard.DefaultField))
	fmt.Println(string(form), err)
	// Output:
	// amount=12&note= <nil>
}
