package check

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/semel-dev/semel/check/wire"
)

// A reason holds its values in fields: whatever its sentence says, those of a place with the name of a secret are hidden, even where
// they are too short to be hidden everywhere.
func TestReasonsHideSecretsInAnyWords(t *testing.T) {
	t.Parallel()
	profile, _ := ProfileNamed("ietf")
	config := Config{Template: Template{
		Method: http.MethodPost, URL: "http://shop.example/", Body: []byte("pin=7"), Header: []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}},
	}, Profile: profile, Mask: []string{"location", "ETag"}}
	if err := config.complete(); err != nil {
		t.Fatal(err)
	}
	p := &probe{run: newTestRun(&config)}
	answered := func(id, pin, location, etag string) reply {
		header := http.Header{"Content-Type": {"application/json"}, "Location": {location}, "Etag": {etag}}
		return reply{Answer: &wire.Answer{Status: http.StatusOK, Header: header, Body: []byte(`{"token_id":"` + id + `","pin":` + pin + `}`)}}
	}
	first, again := answered("hush-90001", "7", "/hush-1", "hush-e1"), answered("hush-90001", "8", "/hush-2", "hush-e2")
	nameless := func(body string, header http.Header) reply {
		header.Set("Content-Type", "application/json")
		return reply{Answer: &wire.Answer{Status: http.StatusOK, Header: header, Body: []byte(body)}}
	}
	made := nameless(`{"pin":7}`, http.Header{"Location": {"/hush-1"}})
	invented, err := p.invent(&intent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{
		"invented": invented.invented,
		"same":     p.resembles(made, nameless(`{"pin":8}`, http.Header{"Location": {"/hush-1"}})).what,
		"leads":    p.resembles(made, nameless(`{"next":"http://shop.example/hush-1"}`, http.Header{})).what,
		"trace":    p.reveals(first, nameless(`{}`, http.Header{"X-Trace": {"for hush-90001"}})).what,
		"body":     p.compare(first, again).differs,
		"Location": p.sameLocation(first, again),
		"header":   repeatsHeaders(p, first, again).reason,
		"id":       p.resembles(first, again).what,
		"place":    leadsToOnePlace(p, reply{Answer: seeOther(first)}, reply{Answer: seeOther(again)}).reason,
	}
	fields, letters := regexp.MustCompile("\x00[^\x00]*\x00"), regexp.MustCompile(`[A-Za-z,]`)
	for name, reason := range reasons {
		words := fields.Split(reason, -1)
		for i := range words {
			words[i] = letters.ReplaceAllString(words[i], "x")
		}
		mangled := words[0]
		for i, field := range fields.FindAllString(reason, -1) {
			mangled += field + words[i+1]
		}
		got := newMasker(&config).reason(mangled)
		if strings.Contains(got, "hush") || strings.ContainsAny(strings.ReplaceAll(got, "303", ""), "78") || !strings.Contains(got, wire.Hidden) {
			t.Errorf("%s: %q is masked as %q", name, mangled, got)
		}
	}
}

func seeOther(r reply) *wire.Answer {
	moved := *r.Answer
	moved.Status = http.StatusSeeOther
	return &moved
}
