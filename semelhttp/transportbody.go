package semelhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// transportBody hands out the body of a request, once for each attempt.
type transportBody struct {
	first  io.ReadCloser                 // for the first attempt; nil afterwards
	again  func() (io.ReadCloser, error) // nil for an empty body, and when once is set
	length int64
	once   string // why it cannot be sent again; empty when it can
}

// newTransportBody takes over the body of req; bodies that cannot be got again
// are read, up to most bytes. On an error the caller closes the body.
func newTransportBody(req *http.Request, most int64) (*transportBody, error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return &transportBody{}, nil
	case req.GetBody != nil:
		return &transportBody{first: req.Body, again: req.GetBody, length: req.ContentLength}, nil
	case most < 0 || req.ContentLength > most:
		return streamOnce(req, req.Body, most), nil
	}
	head, err := io.ReadAll(io.LimitReader(req.Body, most+1))
	if err != nil {
		return nil, fmt.Errorf("read the request body: %w", err)
	}
	if int64(len(head)) > most {
		return streamOnce(req, joinedBody{io.MultiReader(bytes.NewReader(head), req.Body), req.Body}, most), nil
	}
	if err := req.Body.Close(); err != nil {
		return nil, fmt.Errorf("close the request body: %w", err)
	}
	return bufferedBody(req, head), nil
}

func bufferedBody(req *http.Request, content []byte) *transportBody {
	b := &transportBody{length: req.ContentLength}
	if len(content) == 0 && req.ContentLength <= 0 && len(req.Trailer) == 0 {
		b.length = 0
		return b
	}
	if b.length <= 0 && len(req.Trailer) == 0 {
		b.length = int64(len(content))
	}
	b.again = func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	return b
}

func streamOnce(req *http.Request, body io.ReadCloser, most int64) *transportBody {
	return &transportBody{
		first: body, length: req.ContentLength,
		once: fmt.Sprintf("the body has no GetBody and more than %d bytes, so it cannot be sent again", max(0, most)),
	}
}

type joinedBody struct {
	io.Reader
	io.Closer
}

// attach gives the request of one attempt its body.
func (b *transportBody) attach(out *http.Request) error {
	out.ContentLength, out.GetBody, out.Body = b.length, b.again, nil
	switch {
	case b.first != nil:
		out.Body, b.first = b.first, nil
		return nil
	case b.again != nil:
		body, err := b.again()
		out.Body = body
		return err
	case b.once != "":
		return errors.New("semelhttp: " + b.once)
	}
	return nil
}
