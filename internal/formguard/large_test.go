package formguard_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/semel-dev/semel/internal/formguard"
)

// blanks are n bytes of nothing, made as they are read.
type blanks struct{ n int64 }

func (b *blanks) Read(p []byte) (int, error) {
	if b.n == 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), b.n))
	b.n -= int64(n)
	return n, nil
}

// grown returns how many bytes were allocated in work.
func grown(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Whatever the body, its length costs no memory.
func TestLargeBodiesTakeConstantMemory(t *testing.T) { //nolint:paralleltest // it counts all allocations of the process.
	const most = 512 << 10
	size := int64(1 << 30)
	if testing.Short() {
		size = 64 << 20
	}
	upload := "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n"
	ours := "--XX\r\nContent-Disposition: form-data; name=\"_semel\"; filename=\"f.bin\"\r\n\r\nsm1."
	for name, x := range map[string]struct {
		contentType, before, after string
		size                       int64
		removed                    int
	}{
		"upload of 1 GB":           {mixed, upload, "\r\n" + part("_semel", tok) + end, size, len(part("_semel", tok))},
		"file with the field name": {mixed, part("_semel", tok) + ours, "\r\n" + end, 10 << 20, len(part("_semel", tok))},
		"pair":                     {urlencoded, "_semel=sm1.x&a=", "&_semel=sm1.y", 64 << 20, len("_semel=sm1.x&&_semel=sm1.y")},
		"line":                     {textPlain, "_semel=sm1.x\r\na=", "\r\n_semel=sm1.y\r\n", 64 << 20, len("_semel=sm1.x\r\n_semel=sm1.y\r\n")},
		"value of ours":            {urlencoded, "_semel=sm1.", "&a=1", 64 << 20, 0},
	} {
		body := func() io.Reader {
			return io.MultiReader(strings.NewReader(x.before), &blanks{x.size}, strings.NewReader(x.after))
		}
		want := int64(len(x.before)) + x.size + int64(len(x.after)-x.removed)
		var got formguard.Result
		var stripped int64
		var err, stripErr error
		cost := grown(func() {
			got, err = formguard.Scan(body(), x.contentType, "", nil)
			stripped, stripErr = io.Copy(io.Discard, formguard.Strip(body(), x.contentType, ""))
		})
		if err != nil || stripErr != nil || got.Length != want || stripped != want {
			t.Errorf("%s: %d, %v and %d, %v bytes are left, want %d", name, got.Length, err, stripped, stripErr, want)
		}
		if cost > most {
			t.Errorf("%s: %d bytes were allocated, want %d at most", name, cost, most)
		}
	}
}

// Any number of token fields is removed; a bounded number is kept.
func TestManyTokensTakeConstantMemory(t *testing.T) { //nolint:paralleltest // it counts all allocations of the process.
	pairs := strings.Repeat("_semel=sm1.x&", 200_000) + "a=1"
	var got formguard.Result
	_ = grown(func() { got = scan(t, urlencoded, "_semel=sm1.y", pairs, nil) })
	if len(got.Tokens) != 64 || !got.Found || got.Length != 3 {
		t.Errorf("%d tokens, found = %v, length %d, want 64, true, 3", len(got.Tokens), got.Found, got.Length)
	}
	few := scan(t, urlencoded, "_semel=sm1.y", "_semel=sm1.x", &formguard.BodyOptions{MaxTokens: 1})
	if len(few.Tokens) != 1 || few.Tokens[0] != "sm1.x" {
		t.Errorf("tokens %q, want the body's first", few.Tokens)
	}
}

// A delimiter is found wherever the window ends.
func TestDelimitersAtEveryPlaceOfTheWindow(t *testing.T) {
	t.Parallel()
	token := part("_semel", tok)
	for _, around := range []int{8 << 10, 32 << 10, 64 << 10} {
		for size := around - 140; size < around+20; size++ { // its part is 70 bytes long, and 55 come before the text
			bare := part("a", strings.Repeat("x", size)) + end
			body := strings.Replace(bare, end, token+end, 1)
			if got := strip(t, mixed, "", body); got != bare {
				t.Fatalf("%d bytes before the token: %d are left of %d, want %d", size, len(got), len(body), len(bare))
			}
			pairs := "a=" + strings.Repeat("x", size)
			if got := strip(t, urlencoded, "", pairs+"&_semel=sm1.x&b"); got != pairs+"&b" {
				t.Fatalf("%d bytes before the token: wrong pairs", size)
			}
		}
	}
}

// How long a piece may be that is judged does not depend on how it arrives.
func TestLongPiecesAreJudgedAlikeHoweverTheyArrive(t *testing.T) {
	t.Parallel()
	verdicts := map[bool]int{}
	for size := 7_700; size < 8_300; size += 23 {
		body := "--XX\r\nContent-Disposition: form-data; name=\"_semel\"; x=\"" + strings.Repeat("x", size) + "\"\r\n\r\n" + tok + "\r\n" + end
		pairs := "a=1&csrf_token=" + strings.Repeat("x", size) + "&b=2"
		for contentType, body := range map[string]string{mixed: body, urlencoded: pairs} {
			atOnce, err := formguard.Scan(strings.NewReader(body), contentType, "", nil)
			slowly, slowErr := formguard.Scan(iotest.OneByteReader(strings.NewReader(body)), contentType, "", nil)
			if (err == nil) != (slowErr == nil) || atOnce.Digest != slowly.Digest || atOnce.Length != slowly.Length {
				t.Fatalf("%s, %d: at once %d, %v, byte by byte %d, %v", contentType, size, atOnce.Length, err, slowly.Length, slowErr)
			}
			verdicts[err == nil]++
		}
	}
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("accepted %d, refused %d: the bound is not among these sizes", verdicts[true], verdicts[false])
	}
}

func TestReadErrorsAreTheReaders(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line is cut")
	for _, contentType := range []string{urlencoded, mixed, textPlain, "application/json"} {
		body := func() io.Reader {
			return io.MultiReader(strings.NewReader("a=1&_semel=sm1.x"), iotest.ErrReader(broken))
		}
		if _, err := formguard.Scan(body(), contentType, "", nil); !errors.Is(err, broken) {
			t.Errorf("%s: Scan: got %v", contentType, err)
		}
		if _, err := io.ReadAll(formguard.Strip(body(), contentType, "")); !errors.Is(err, broken) {
			t.Errorf("%s: Strip: got %v", contentType, err)
		}
	}
	if _, err := io.ReadAll(formguard.Strip(stuck{}, urlencoded, "")); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that returns nothing: got %v, want %v", err, io.ErrNoProgress)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }
