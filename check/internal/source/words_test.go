package source_test

import (
	"strings"
	"testing"

	"github.com/semel-dev/semel/check/internal/source"
)

func TestCurlWords(t *testing.T) {
	t.Parallel()
	const form = "\nContent-Type: application/x-www-form-urlencoded\n\n"
	words := func(line string) []string { return append([]string{"curl", "http://a"}, strings.Fields(line)...) }
	r, err := source.CurlWords(words("-X PUT -d @-"), strings.NewReader("b\r\nc\n"))
	wants(t, r, err, "PUT http://a"+form+"bc")
	r, err = source.CurlWords(words("--data-binary @-"), strings.NewReader("b\r\nc\n"))
	wants(t, r, err, "POST http://a"+form+"b\r\nc\n")
	r, err = source.CurlWords(words("-d @-"), nil)
	refused(t, r, err, "-d: the command reads standard input")
	r, err = source.CurlWords(words("-d @-"), strings.NewReader(strings.Repeat("x", source.MaxBytes+1)))
	refused(t, r, err, "larger than 16 MiB")
	r, err = source.CurlWords([]string{"curl"}, nil)
	refused(t, r, err, "the URL is missing")
}
