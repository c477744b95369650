// Command intent makes the key outside of the retry.
package main

import (
	"context"
	"net/http"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/semel-dev/semel/semelhttp"
)

func main() {
	client := retryablehttp.NewClient()
	client.HTTPClient = &http.Client{Transport: &semelhttp.Transport{}}
	_ = semelhttp.NewIntent(context.Background())
}
