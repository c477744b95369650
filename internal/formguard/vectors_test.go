package formguard_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/semel-dev/semel/internal/formguard"
	"github.com/semel-dev/semel/internal/must"
)

// vectorFile holds the cases that every implementation must agree on.
const vectorFile = "../../testdata/vectors/formtokens.json"

type formVectors struct {
	About   string         `json:"about"`
	Secrets []string       `json:"secrets"`
	Tokens  []tokenVector  `json:"tokens"`
	Digests []digestVector `json:"digests"`
}

type tokenVector struct {
	Case      string   `json:"case"`
	Text      string   `json:"text"`
	Route     string   `json:"route"`
	Who       []string `json:"who"`
	Now       int64    `json:"now"`
	LifetimeS int64    `json:"lifetime_s"`
	Want      string   `json:"want"`
	Name      string   `json:"name"`
	Issued    int64    `json:"issued"`
	By        int      `json:"by"`
}

type digestVector struct {
	Case        string `json:"case"`
	ContentType string `json:"content_type"`
	Query       string `json:"query"`
	Body        string `json:"body"`
	Digest      string `json:"digest"`
}

// formFields are the fields that do not count, and some that do. The scripts in web read them too.
type formFields struct {
	About            string
	Ignored, Content []string
}

func readFields(tb testing.TB) formFields {
	tb.Helper()
	var fields formFields
	if err := json.Unmarshal(must.Get(os.ReadFile("../../testdata/vectors/formfields.json")), &fields); err != nil {
		tb.Fatal(err)
	}
	if len(fields.Ignored) < 50 || len(fields.Content) < 15 {
		tb.Fatalf("%d names that do not count, %d that do", len(fields.Ignored), len(fields.Content))
	}
	return fields
}

func readVectors(tb testing.TB) formVectors {
	tb.Helper()
	file := must.Get(os.Open(vectorFile))
	defer file.Close()
	dec := json.NewDecoder(file)
	dec.DisallowUnknownFields()
	var v formVectors
	if err := dec.Decode(&v); err != nil {
		tb.Fatalf("%s: %v", vectorFile, err)
	}
	if len(v.Tokens) < 30 || len(v.Digests) < 10 {
		tb.Fatalf("%s has %d tokens and %d digests only", vectorFile, len(v.Tokens), len(v.Digests))
	}
	return v
}

func vectorMinter(tb testing.TB, v *formVectors, c *clock) *formguard.Minter {
	tb.Helper()
	var secrets [][]byte
	for _, text := range v.Secrets {
		raw := must.Get(hex.DecodeString(text))
		secrets = append(secrets, raw)
	}
	return minter(tb, c, secrets...)
}

func TestTokenVectors(t *testing.T) {
	t.Parallel()
	file := readVectors(t)
	verdicts := map[string]error{
		"ok": nil, "expired": formguard.ErrExpired, "foreign": formguard.ErrForeign, "malformed": formguard.ErrMalformed,
	}
	for _, v := range file.Tokens {
		t.Run(v.Case, func(t *testing.T) {
			t.Parallel()
			m := vectorMinter(t, &file, &clock{at: time.Unix(v.Now, 0)})
			want, known := verdicts[v.Want]
			if !known {
				t.Fatalf("unknown verdict %q", v.Want)
			}
			token, by, err := m.Verify(v.Text, v.Route, time.Duration(v.LifetimeS)*time.Second, v.Who...)
			if !errors.Is(err, want) || by != v.By {
				t.Fatalf("got %d, %v, want %d, %v", by, err, v.By, want)
			}
			if by >= 0 && (token.Name() != v.Name || token.Issued.Unix() != v.Issued) {
				t.Errorf("got %s of %d, want %s of %d", token.Name(), token.Issued.Unix(), v.Name, v.Issued)
			}
		})
	}
}

func TestDigestVectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t).Digests {
		got := scan(t, v.ContentType, v.Query, v.Body, nil)
		if text := hex.EncodeToString(got.Digest[:]); text != v.Digest {
			t.Errorf("%s: got %s, want %s", v.Case, text, v.Digest)
		}
	}
}
