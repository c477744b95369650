package faulty

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
)

// maxBody bounds a body before and after decompression.
const maxBody = 4 << 20

// refusal says why an order is refused.
type refusal struct {
	status int
	detail string
}

// readOrder reads an order: JSON, a form, or a multipart form, plain or in gzip.
func readOrder(r *http.Request) (Order, *refusal) {
	if problem := unfold(r); problem != nil {
		return Order{}, problem
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return Order{}, &refusal{http.StatusUnsupportedMediaType, "the Content-Type is missing or unreadable"}
	}
	switch media {
	case "application/json":
		return fromJSON(r.Body)
	case "application/x-www-form-urlencoded":
		if err := r.ParseForm(); err != nil {
			return Order{}, &refusal{http.StatusBadRequest, "the form cannot be read"}
		}
		return fromForm(r.PostForm)
	case "multipart/form-data":
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return Order{}, &refusal{http.StatusBadRequest, "the parts cannot be read"}
		}
		return fromForm(r.PostForm)
	}
	return Order{}, &refusal{http.StatusUnsupportedMediaType, "an order is JSON or a form"}
}

// unfold bounds the body, and decompresses gzip.
func unfold(r *http.Request) *refusal {
	r.Body = http.MaxBytesReader(nil, r.Body, maxBody)
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		plain, err := gzip.NewReader(r.Body)
		if err != nil {
			return &refusal{http.StatusBadRequest, "the body is not in gzip"}
		}
		r.Body = io.NopCloser(io.LimitReader(plain, maxBody))
	default:
		return &refusal{http.StatusUnsupportedMediaType, "the body may be plain or in gzip"}
	}
	return nil
}

func fromJSON(body io.Reader) (Order, *refusal) {
	var sent struct {
		Number string
		Amount *int64
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return Order{}, &refusal{http.StatusBadRequest, "the body did not arrive"}
	}
	if err := json.Unmarshal(text, &sent); err != nil {
		return Order{}, &refusal{http.StatusBadRequest, "the body is not an order in JSON"}
	}
	if sent.Number == "" || sent.Amount == nil {
		return Order{}, &refusal{http.StatusBadRequest, "an order has a number and an amount"}
	}
	return Order{Number: sent.Number, Amount: *sent.Amount}, nil
}

func fromForm(form url.Values) (Order, *refusal) {
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	if err != nil || form.Get("number") == "" {
		return Order{}, &refusal{http.StatusBadRequest, "an order has a number and an amount"}
	}
	return Order{Number: form.Get("number"), Amount: amount}, nil
}
