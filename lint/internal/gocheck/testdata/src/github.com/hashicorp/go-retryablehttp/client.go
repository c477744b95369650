// Package retryablehttp has the shape of the library.
package retryablehttp

import (
	"io"
	"net/http"
)

type Client struct{ HTTPClient *http.Client }

type Request struct{ *http.Request }

func NewClient() *Client                                                        { return &Client{} }
func NewRequest(method, url string, body any) (*Request, error)                 { return nil, nil }
func (c *Client) Do(r *Request) (*http.Response, error)                         { return nil, nil }
func (c *Client) Post(url, kind string, body io.Reader) (*http.Response, error) { return nil, nil }
