package forms

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/semelhttp"
)

// maxStripBytes is the longest body of an unprotected request that is read before
// it is passed on, so that its length is right without its tokens.
const maxStripBytes = 64 << 10

// Strip takes the tokens out of the body before next sees it. Where there
// are none, the body stays as it is, and so does the way it is sent.
func (f *Forms) Strip(next http.Handler) http.Handler {
	if len(f.fields) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if formguard.CheckType(r.Header) != nil {
			Refuse(w, r)
			return
		}
		contentType := formguard.FormType(r.Header)
		if contentType == "" || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		out := r.WithContext(r.Context())
		a := attemptOf(r.Context())
		spooled, whole := r.Body.(io.Seeker)
		switch {
		case a == nil, a.looked && !a.tokens:
		case a.looked:
			f.replaceBody(out, contentType, a.length)
		case whole:
			if err := f.stripWhole(out, contentType, spooled); err != nil {
				f.gateway.FailBody(w, r, err)
				return
			}
		case r.ContentLength < 0:
			f.replaceBody(out, contentType, -1)
		case r.ContentLength <= maxStripBytes && r.Header["Expect"] == nil:
			if err := f.stripShort(out, contentType); err != nil {
				f.gateway.FailBody(w, r, err)
				return
			}
		default: // as long as it says, whatever is found on the way
			f.replaceBody(out, contentType, r.ContentLength)
			out.Body = &paddedBody{ReadCloser: out.Body, left: r.ContentLength, padding: paddingOf(contentType)}
		}
		next.ServeHTTP(w, out)
	})
}

// Refuse answers a form in which readers may find different fields: the
// application could find a token in it, or another form than the gateway does.
func Refuse(w http.ResponseWriter, r *http.Request) {
	semelhttp.Dispose(r.Context(), semel.StateReleased, "a form that can be read in two ways")
	semelhttp.WriteProblem(w, r, semelhttp.Problem{
		Name: "ambiguous-form", Page: "ambiguous-form", Title: "The form can be read in two ways", Status: http.StatusBadRequest,
		Detail: "Nothing was done. Programs would find different fields in it. Send one Content-Type with one plain boundary, and parts with short headers, as browsers do.",
	})
}

// stripped returns the body without the fields of all rules.
func (f *Forms) stripped(body io.Reader, contentType string) io.Reader {
	for _, field := range f.fields {
		body = formguard.Strip(body, contentType, field)
	}
	return body
}

// replaceBody puts the stripped body in the place of the request's; length is -1
// for unknown.
func (f *Forms) replaceBody(r *http.Request, contentType string, length int64) {
	r.Body = &strippedBody{Reader: f.stripped(r.Body, contentType), Closer: r.Body}
	if length == r.ContentLength {
		return
	}
	r.ContentLength = length
	r.Header = r.Header.Clone()
	for _, name := range []string{"Content-Length", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest"} {
		delete(r.Header, name)
	}
	if length >= 0 {
		r.TransferEncoding = nil
		r.Header["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
}

// stripWhole looks through a body that is here already.
func (f *Forms) stripWhole(r *http.Request, contentType string, body io.Seeker) error {
	whole, err := body.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err = body.Seek(0, io.SeekStart); err != nil {
		return err
	}
	length, err := countBytes(f.stripped(r.Body, contentType))
	if err != nil {
		return err
	}
	if _, err = body.Seek(0, io.SeekStart); err != nil || length == whole {
		return err
	}
	f.replaceBody(r, contentType, length)
	return nil
}

// stripShort reads the body, which is not long, and takes its tokens out.
func (f *Forms) stripShort(r *http.Request, contentType string) error {
	whole, err := io.ReadAll(io.LimitReader(r.Body, r.ContentLength))
	if err != nil {
		return err
	}
	closer := r.Body
	r.Body = &strippedBody{Reader: bytes.NewReader(whole), Closer: closer}
	length, err := countBytes(f.stripped(bytes.NewReader(whole), contentType))
	if err != nil || length == int64(len(whole)) {
		return err
	}
	f.replaceBody(r, contentType, length)
	return nil
}

// strippedBody is a body that is read through something.
type strippedBody struct {
	io.Reader
	io.Closer
}

// countBytes reads to the end.
func countBytes(from io.Reader) (int64, error) { return io.Copy(io.Discard, from) }

// paddedBody is a stripped body that is as long as the whole one: so a long body
// can be passed on while it comes in, with its length said before. What is
// missing is made up for behind its end, where readers of forms look over it.
type paddedBody struct {
	io.ReadCloser
	left    int64 // until the declared length
	padding string
	ended   bool
}

// Read implements io.Reader.
func (b *paddedBody) Read(p []byte) (int, error) {
	if !b.ended {
		n, err := b.ReadCloser.Read(p)
		b.left -= int64(n)
		if err != io.EOF {
			return n, err
		}
		b.ended = true
		if n > 0 {
			return n, nil
		}
	}
	if b.left <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) && b.left > 0 {
		p[n] = b.padding[int(b.left)%len(b.padding)]
		n++
		b.left--
	}
	return n, nil
}

// paddingOf returns what may follow a body of the type: empty pairs, empty
// lines, or the epilogue of RFC 2046, section 5.1.1.
func paddingOf(contentType string) string {
	if isURLEncoded(contentType) {
		return "&"
	}
	return "\n\r" // from its end
}
