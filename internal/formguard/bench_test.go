package formguard_test

import (
	"io"
	"strings"
	"testing"

	"github.com/semel-dev/semel/internal/formguard"
)

// onlyReader hides the short cuts of a reader.
type onlyReader struct{ io.Reader }

type onlyWriter struct{ io.Writer }

func benchBodies() map[string]struct{ contentType, body string } {
	letters := strings.Repeat("The quick brown fox jumps over the lazy dog; line.\r\n", 20_000)
	fields := strings.Repeat("&field_of_an_invoice=a+value+of+some+length+%26", 20_000)
	return map[string]struct{ contentType, body string }{
		"Upload":  {mixed, part("_semel", tok) + part("file", letters) + end},
		"Fields":  {urlencoded, "_semel=sm1.x" + fields},
		"OneForm": {urlencoded, "_semel=sm1.x&name=Ada&amount=12&csrf_token=abcdef"},
	}
}

func BenchmarkStrip(b *testing.B) {
	for name, x := range benchBodies() {
		b.Run(name+"/Copy", func(b *testing.B) {
			b.SetBytes(int64(len(x.body)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = io.Copy(onlyWriter{io.Discard}, onlyReader{strings.NewReader(x.body)})
			}
		})
		b.Run(name+"/Strip", func(b *testing.B) {
			b.SetBytes(int64(len(x.body)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = io.Copy(onlyWriter{io.Discard}, formguard.Strip(strings.NewReader(x.body), x.contentType, ""))
			}
		})
		b.Run(name+"/Scan", func(b *testing.B) {
			b.SetBytes(int64(len(x.body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := formguard.Scan(strings.NewReader(x.body), x.contentType, "", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkToken(b *testing.B) {
	m := minter(b, newClock())
	text := m.Mint("invoices", "cookie:abc")
	b.Run("Mint", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = m.Mint("invoices", "cookie:abc")
		}
	})
	b.Run("Press", func(b *testing.B) {
		press, page := m.Press("invoices", "cookie:abc"), []byte(nil)
		b.ReportAllocs()
		for b.Loop() {
			page = press.Append(page[:0])
		}
	})
	b.Run("Verify", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := m.Verify(text, "invoices", 1<<62, "authorization:x", "cookie:abc"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
