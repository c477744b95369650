// Package keyed posts with a key.
package keyed

import "github.com/hashicorp/go-retryablehttp"

func posts(key string, body []byte) error {
	r, err := retryablehttp.NewRequest("POST", "http://pay", body)
	if err != nil {
		return err
	}
	r.Header.Set("Idempotency-Key", key)
	_, err = retryablehttp.NewClient().Do(r)
	return err
}
