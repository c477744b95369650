package source_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/check/internal/source"
	"github.com/semel-dev/semel/check/wire"
)

// recording is as written by Chromium for HTTP/2, including parts that are not read.
const recording = `{"log":{"version":"1.2","creator":{"name":"WebInspector","version":"537.36"},"pages":[],"entries":[
 {"_resourceType":"document","request":{"method":"GET","url":"https://shop.example.com/invoices","headers":[]},"response":{"status":200}},
 {"request":{"method":"POST","url":"https://stats.example.net/collect","headers":[],"postData":{"mimeType":"text/plain","text":"x"}}},
 {"request":{"method":"OPTIONS","url":"https://shop.example.com/api/invoices","headers":[]}},
 {"time":12.5,"request":{"method":"POST","url":"https://shop.example.com/api/invoices?lang=sv#top","httpVersion":"http/2.0",
   "headers":[{"name":":authority","value":"shop.example.com"},{"name":":method","value":"POST"},
     {"name":"accept","value":"application/json"},{"name":"accept-encoding","value":"gzip, br"},{"name":"content-length","value":"14"},
     {"name":"content-type","value":"application/json"},{"name":"cookie","value":"a=1"},{"name":"cookie","value":"b=2"},
     {"name":"idempotency-key","value":"\"k1\""},{"name":"user-agent","value":"Mozilla/5.0"}],
   "queryString":[{"name":"lang","value":"sv"}],"cookies":[{"name":"a","value":"1"},{"name":"b","value":"2"}],
   "headersSize":-1,"bodySize":14,"postData":{"mimeType":"application/json","text":"{\"amount\": 1}\n"}}},
 {"request":{"method":"GET","url":"https://shop.example.com/api/invoices?page=2","headers":[]}},
 {"request":{"method":"GET","url":"wss://shop.example.com/api/live","headers":[]}},
 {"comment":"upload","request":{"method":"PUT","url":"https://shop.example.com/files","headers":[],
   "cookies":[{"name":"s","value":"t"}],
   "postData":{"mimeType":"multipart/form-data; boundary=----WebKit","params":[
     {"name":"title","value":"A"},{"name":"file","fileName":"a.pdf","contentType":"application/pdf"}]}}},
 {"request":{"method":"PATCH","url":"https://shop.example.com/b","headers":[{"name":"Content-Type","value":"x/y"}],
   "postData":{"mimeType":"x/y","text":"AAH/","encoding":"base64"}}},
 {"request":{"method":"PATCH","url":"https://shop.example.com/form","headers":[{"name":"Host","value":"shop.example.com"}],
   "postData":{"mimeType":"application/x-www-form-urlencoded","params":[{"name":"a b","value":"c&d"},{"name":"e","value":""}]}}}
]}}`

func TestHAR(t *testing.T) {
	t.Parallel()
	const invoice = "POST https://shop.example.com/api/invoices?lang=sv\naccept: application/json\ncontent-type: application/json\n" +
		"user-agent: Mozilla/5.0\nCookie: a=1; b=2\n\n{\"amount\": 1}\n"
	const form = "PATCH https://shop.example.com/form\nContent-Type: application/x-www-form-urlencoded\n\na+b=c%26d&e="
	for entry, want := range map[string]string{
		"":                  invoice,
		"4":                 invoice,
		"/api/invoices":     invoice,
		"POST /invoices":    invoice,
		"stats":             "POST https://stats.example.net/collect\nContent-Type: text/plain\n\nx",
		"GET /api/invoices": "GET https://shop.example.com/api/invoices?page=2",
		"8":                 "PATCH https://shop.example.com/b\nContent-Type: x/y\n\n\x00\x01\xff",
		"form":              form,
		"/files": "PUT https://shop.example.com/files\nContent-Type: multipart/form-data; boundary=------------------------BOUNDARY\nCookie: s=t\n\n" +
			"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nA\r\n" +
			"--------------------------BOUNDARY\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n" +
			"Content-Type: application/pdf\r\n\r\ncontent\r\n--------------------------BOUNDARY--\r\n",
	} {
		t.Run(entry, func(t *testing.T) {
			t.Parallel()
			r, err := source.HAR(strings.NewReader(recording), entry)
			if err == nil {
				withoutBoundary(r)
			}
			wants(t, r, err, want)
		})
	}
}

func TestHARReports(t *testing.T) {
	t.Parallel()
	r, err := source.HAR(strings.NewReader("\ufeff"+recording), "4")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire.Field{Name: "idempotency-key", Value: `"k1"`}, r.Key); diff != "" {
		t.Error(diff)
	}
	noted(t, r, "the header Cookie comes from the recording")
	noted(t, r, "idempotency-key was left out")
	r, err = source.HAR(strings.NewReader(recording), "")
	if err != nil {
		t.Fatal(err)
	}
	noted(t, r, "2 entries of the recording match; the last is used: 4 (POST https://shop.example.com/api/invoices)")
	r, err = source.HAR(strings.NewReader(recording), "7")
	if err != nil {
		t.Fatal(err)
	}
	noted(t, r, "content of the file a.pdf: it was made up")
}

func TestHARRefuses(t *testing.T) {
	t.Parallel()
	entry := func(request string) string { return `{"log":{"entries":[{"request":` + request + `}]}}` }
	for _, c := range []struct{ text, entry, want string }{
		{"{\n\n x", "", "(line 3)"},
		{`{}`, "", "no entries"},
		{recording, "0", "1 to 9"},
		{recording, "10", "1 to 9"},
		{recording, "nowhere", "4 (POST https://shop.example.com/api/invoices)"},
		{entry(`{"method":"GET","url":"http://a/"}`), "", "1 (GET http://a/)"},
		{entry(`{"method":"POST","url":"ws://a/"}`), "1", "does not begin with http"},
		{entry(`{"method":"POST","url":"http://a/","postData":{"text":"!","encoding":"base64"}}`), "", "entry 1 (POST http://a/): its body is not base64"},
		{entry(`{"method":"POST","url":"http://a/","postData":{"_file":"x.bin"}}`), "", "x.bin"},
		{entry(`{"method":"POST","url":"http://a/","headers":[{"name":"a","value":"b\nc"}]}`), "", "is invalid: write NAME: VALUE"},
	} {
		r, err := source.HAR(strings.NewReader(c.text), c.entry)
		refused(t, r, err, c.want)
	}
}

func FuzzHAR(f *testing.F) {
	f.Add(recording, "")
	f.Add(recording, "7")
	f.Fuzz(func(t *testing.T, text, entry string) {
		r, err := source.HAR(strings.NewReader(text), entry)
		if err != nil {
			return
		}
		if err := r.Template.Validate(); err != nil {
			t.Errorf("a request that cannot be sent: %v", err)
		}
	})
}
