package semelhttp_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/must"
	"github.com/semel-dev/semel/semelhttp"
)

func zipped(t *testing.T, text string, level int) string {
	t.Helper()
	var out bytes.Buffer
	w := must.Get(gzip.NewWriterLevel(&out, level))
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	noError(t, w.Close())
	return out.String()
}

// TestBodiesReadDifferently: promise 6: two bodies that some application reads
// differently are two requests, however clever the reduction; what all read
// alike is one.
func TestBodiesReadDifferently(t *testing.T) {
	t.Parallel()
	const asJSON = "application/json"
	deep := func(n int, inside string) string { return strings.Repeat("[", n) + inside + strings.Repeat("]", n) }
	form := func(boundary string, parts ...string) string { return multipartBody(boundary, parts...) }
	for name, test := range map[string]struct {
		one, two         string
		oneType, twoType string // default application/json
		encoding         string // of two
		same             bool
	}{
		"white space":             {one: `{"a":1}`, two: " {\n\"a\" : 1 } ", same: true},
		"order":                   {one: `{"a":1,"b":2}`, two: `{"b":2,"a":1}`, same: true},
		"escapes":                 {one: `{"a":"b"}`, two: `{"\u0061":"\u0062"}`, same: true},
		"pairs of surrogates":     {one: `"\ud83d\ude00"`, two: `"😀"`, same: true},
		"duplicates":              {one: `{"a":1,"a":2}`, two: `{"a":2,"a":1}`},
		"duplicates in disguise":  {one: `{"a":1,"\u0061":2}`, two: `{"\u0061":2,"a":1}`},
		"a duplicate less":        {one: `{"a":1,"a":1}`, two: `{"a":1}`},
		"capitals":                {one: `{"a":1}`, two: `{"A":1}`},
		"1 and 1.0":               {one: `1`, two: `1.0`},
		"100 and 1e2":             {one: `100`, two: `1e2`},
		"0 and -0":                {one: `0`, two: `-0`},
		"beyond float64":          {one: `9007199254740992`, two: `9007199254740993`},
		"infinite":                {one: `1e400`, two: `1e401`},
		"long numbers":            {one: strings.Repeat("9", 100_000), two: strings.Repeat("9", 99_999) + "8"},
		"long exponents":          {one: "1e" + strings.Repeat("9", 1000), two: "1e" + strings.Repeat("9", 999) + "8"},
		"number and text":         {one: `1`, two: `"1"`},
		"null and absent":         {one: `{"a":null}`, two: `{}`},
		"lone surrogates":         {one: `"\ud800"`, two: `"\udfff"`},
		"surrogate, replacement":  {one: `"\ud800"`, two: `"\ufffd"`},
		"invalid UTF-8":           {one: "\"\xff\"", two: "\"\xfe\""},
		"overlong UTF-8":          {one: "\"\xc0\xaf\"", two: `"/"`},
		"composed or not":         {one: `"é"`, two: `"e\u0301"`},
		"NUL":                     {one: `"a\u0000b"`, two: `"a"`},
		"byte order mark":         {one: `{"a":1}`, two: "\ufeff" + `{"a":1}`},
		"rest after the document": {one: `{"a":1}`, two: `{"a":1}{"a":2}`},
		"comment":                 {one: `{"a":1}`, two: `{"a":1/**/}`},
		"trailing comma":          {one: `{"a":1}`, two: `{"a":1,}`},
		"deep":                    {one: deep(100_000, "1"), two: deep(100_000, "2")},
		"deep, white space":       {one: deep(1000, "1"), two: deep(1000, " 1")},
		"charset":                 {one: `{"a":1}`, two: `{"a":1}`, twoType: asJSON + "; charset=utf-16"},
		"another type":            {one: `{"a":1}`, two: `{"a":1}`, twoType: "text/plain"},
		"type with a comment":     {one: `{"a":1}`, two: `{"a":1}`, twoType: asJSON + "; a*0=b"},
		"encoding":                {one: `{"a":1}`, two: `{"a":1}`, encoding: "gzip"},
		"zipped":                  {one: `{"a":1}`, two: zipped(t, `{"a":1}`, 9), encoding: "gzip"},
		"multipart, boundary":     {one: form("x", "a", "1"), two: form("y", "a", "1"), oneType: "multipart/form-data; boundary=x", twoType: "multipart/form-data; boundary=y", same: true},
		"multipart, order":        {one: form("x", "a", "1", "b", "2"), two: form("x", "b", "2", "a", "1"), oneType: "multipart/form-data; boundary=x", twoType: "multipart/form-data; boundary=x"},
		"multipart, other limits": {one: form("x", "a", "1\r\n--y"), two: form("y", "a", "1\r\n--x"), oneType: "multipart/form-data; boundary=x", twoType: "multipart/form-data; boundary=y"},
		"multipart, preamble":     {one: form("x", "a", "1"), two: "z\r\n" + form("x", "a", "1"), oneType: "multipart/form-data; boundary=x", twoType: "multipart/form-data; boundary=x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, server, invoices := serveInvoices(t, doorOptions{Options: semelhttp.Options{Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: true}}})
			send := func(body, contentType, encoding string) *reply {
				if contentType == "" {
					contentType = asJSON
				}
				header := []string{"Content-Type", contentType}
				if encoding != "" {
					header = append(header, "Content-Encoding", encoding)
				}
				return ask(t, server, "k1", body, header...)
			}
			first := send(test.one, test.oneType, "")
			second := send(test.two, test.twoType, test.encoding)
			if test.same {
				wantReplay(t, first, second)
			} else {
				wantProblem(t, second, http.StatusUnprocessableEntity, "key-reused")
			}
			invoices.wantRan(t, "promise 6", 1)
		})
	}
}

// multipartBody writes a form; parts are names and values.
func multipartBody(boundary string, parts ...string) string {
	var out strings.Builder
	for i := 0; i+1 < len(parts); i += 2 {
		fmt.Fprintf(&out, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, parts[i], parts[i+1])
	}
	return out.String() + "--" + boundary + "--\r\n"
}

// TestHugeBodies: promise 8: what a body says does not decide how much memory
// it takes: a bomb is not unpacked, and parts, members and levels are not kept.
// It runs alone, because it looks at the memory of the process.
func TestHugeBodies(t *testing.T) { //nolint:paralleltest // see above.
	const most = 32 << 20
	parts := strings.Repeat("--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n", 250_000) + "--x--\r\n"
	fewer := parts[len(parts)-1_000_000/52*52-len("--x--\r\n"):]
	bomb := zipped(t, strings.Repeat("0", 32<<20), 9)
	members := func(n int) string {
		var out strings.Builder
		out.WriteString(`{"z":1`)
		for i := range n {
			out.WriteString(`,"` + strconv.Itoa(i) + `":0`)
		}
		return out.String() + "}"
	}
	for name, test := range map[string]struct {
		source semelhttp.KeySource
		body   string
		header []string
		status int
	}{
		"zip bomb":             {nil, bomb, []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 201},
		"zip bomb with a key":  {semelhttp.FromJSONPointer("/z"), bomb, []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 400},
		"a million parts":      {nil, parts, []string{"Content-Type", "multipart/form-data; boundary=x"}, 201},
		"parts for a key":      {semelhttp.FromFormField("b"), fewer, []string{"Content-Type", "multipart/form-data; boundary=x"}, 201},
		"too many parts":       {semelhttp.FromFormField("b"), parts, []string{"Content-Type", "multipart/form-data; boundary=x"}, 400},
		"many pairs":           {semelhttp.FromFormField("b"), strings.Repeat("a=1&", 65_535), []string{"Content-Type", "application/x-www-form-urlencoded"}, 201},
		"too many pairs":       {semelhttp.Derived(semelhttp.DerivedKey{Fields: []string{"b"}}), "b" + strings.Repeat("&a=1", 65_536), []string{"Content-Type", "application/x-www-form-urlencoded"}, 400},
		"too many separators":  {semelhttp.FromFormField("b"), strings.Repeat("&", 65_536) + "b=1", []string{"Content-Type", "application/x-www-form-urlencoded"}, 400},
		"many members":         {nil, members(250_000), []string{"Content-Type", "application/json"}, 201},
		"members for a key":    {semelhttp.FromJSONPointer("/z"), members(20_000), []string{"Content-Type", "application/json"}, 201},
		"too many for a key":   {semelhttp.FromJSONPointer("/z"), members(900_000), []string{"Content-Type", "application/json"}, 400},
		"deep":                 {nil, strings.Repeat("[", 200_000), []string{"Content-Type", "application/json"}, 201},
		"deep for a key":       {semelhttp.FromJSONPointer("/z"), `{"a":` + strings.Repeat("[", 200_000), []string{"Content-Type", "application/json"}, 400},
		"a long number":        {nil, strings.Repeat("9", 2<<20), []string{"Content-Type", "application/json"}, 201},
		"escapes without end":  {semelhttp.FromJSONPointer("/z"), `{"z":"` + strings.Repeat(`\u0061`, 200_000), []string{"Content-Type", "application/json"}, 400},
		"a name without end":   {semelhttp.FromFormField("b"), strings.Repeat("a", 4<<20), []string{"Content-Type", "application/x-www-form-urlencoded"}, 400},
		"a header without end": {semelhttp.FromFormField("b"), "--x\r\nA: " + strings.Repeat("a", 16<<20), []string{"Content-Type", "multipart/form-data; boundary=x"}, 400},
	} {
		d := newDoor(t, doorOptions{Options: semelhttp.Options{
			Key: test.source, SpoolDir: t.TempDir(),
			Fingerprint: semelhttp.FingerprintOptions{CanonicalJSON: true, MaxCanonicalBytes: 64 << 20},
		}})
		server := d.serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusCreated)
		})
		grown := peak(func() {
			got := ask(t, server, map[bool]string{true: "k1"}[test.source == nil], test.body, test.header...)
			if got.status != test.status {
				t.Errorf("%s: got %d %.200s, want %d", name, got.status, got.body, test.status)
			}
		})
		if grown > most {
			t.Errorf("promise 8: %s, %d bytes: took %d MiB of memory, want at most %d", name, len(test.body), grown>>20, most>>20)
		}
	}
}

// peak returns by how much the heap grew at most while run ran.
func peak(run func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // what is no longer used does not count
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			runtime.ReadMemStats(&now)
			most.Store(max(most.Load(), now.HeapAlloc))
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	run()
	close(done)
	<-over
	return most.Load() - min(most.Load(), before.HeapAlloc)
}
