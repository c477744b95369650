package faulty

import (
	"net/http"
	"strings"
	"time"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// tellingFaults confuse requests, or misread their bodies.
func tellingFaults() []Service {
	return []Service{
		fault("no fingerprint", "Only the key is looked up: another body, path or query gets the answer of the first.",
			by("MIS-02", "MIS-03", "MIS-04", "MIS-05", "MIS-06", "MIS-07", "SIZE-07"),
			recipe{decisions: compared(func(*http.Request, []byte) string { return "" })}.start),
		fault("no body in the fingerprint", "Method and URL are compared, the body is not, as it would have to be read twice.",
			by("MIS-02", "MIS-03", "SIZE-07"), recipe{decisions: compared(func(r *http.Request, _ []byte) string {
				return Fingerprint(r, nil)
			})}.start),
		fault("no path in the fingerprint", "The body is hashed, the path is not: an order's answer is given to another resource.",
			by("MIS-05"), recipe{decisions: compared(func(r *http.Request, body []byte) string {
				return digest(r.Method, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body))
			})}.start),
		fault("no query in the fingerprint", "The router's pattern is compared, which does not include the query.",
			by("MIS-04"), recipe{decisions: compared(func(r *http.Request, body []byte) string {
				return digest(r.Method, r.URL.Path, r.Header.Get("Content-Type"), string(body))
			})}.start),
		fault("no method in the fingerprint", "POST and PATCH share one middleware, which compares the URL and the body.",
			by("MIS-06"), recipe{decisions: compared(func(r *http.Request, body []byte) string {
				return digest(r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body))
			})}.start),
		fault("no content type in the fingerprint", "The same bytes with another content type are another request, but get the first one's answer.",
			by("MIS-07"), recipe{decisions: compared(func(r *http.Request, body []byte) string {
				return digest(r.Method, r.URL.Path, r.URL.RawQuery, string(body))
			})}.start),
		fault("64 KiB of the body", "The body is hashed up to an undocumented bound: large bodies that differ at their end are the same.",
			by("SIZE-07"), recipe{decisions: compared(func(r *http.Request, body []byte) string {
				return Fingerprint(r, body[:min(64<<10, len(body))])
			})}.start),
		fault("chunks are not read", "The body is hashed if there is a Content-Length; a chunked one counts as empty, and as another request.",
			by("SIZE-02"), recipe{decisions: compared(func(r *http.Request, body []byte) string {
				if r.ContentLength < 0 {
					body = nil
				}
				return Fingerprint(r, body)
			})}.start),
	}
}

// mismatchFaults recognise another request under a known key, and do the wrong thing.
func mismatchFaults() []Service {
	return []Service{
		fault("another body executes", "Key and body together are the key, so that a retry with a changed body is executed as well.",
			by("MIS-01", "MIS-03", "MIS-08", "MIS-11", "SIZE-07"), recipe{decisions: func(d *Decisions) {
				d.Mismatch = func(d *Door, w http.ResponseWriter, r *http.Request, _ *Record) { d.next.ServeHTTP(w, r) }
			}}.start),
		fault("the boundary is part of the order", "The raw body is hashed into the key: a multipart form has a new boundary each time, and is a new order each time.",
			by("MIS-01", "MIS-03", "MIS-09", "MIS-11"), recipe{change: inParts, decisions: func(d *Decisions) {
				d.Key = func(r *http.Request) (string, error) {
					key, err := ReadKey(r)
					if err != nil {
						return "", err
					}
					body, err := ReadBody(r)
					r.Body = readable(body)
					return key + digest(string(body)), err
				}
			}}.start),
		fault("no body, no order", "A request without a body has nothing to compare, and bypasses the layer.",
			by("SIZE-01"), recipe{behaviour: Behaviour{Plain: true}, decisions: keyed(func(r *http.Request) (string, error) {
				if r.ContentLength == 0 {
					return "", errNoKey
				}
				return ReadKey(r)
			})}.start),
		fault("a mismatch destroys the record", "A record that does not match is treated as stale and deleted: the next retry runs.",
			by("MIS-10"), recipe{decisions: func(d *Decisions) {
				right := d.Mismatch
				d.Mismatch = func(d *Door, w http.ResponseWriter, r *http.Request, rec *Record) {
					d.memory.forget(rec.id)
					right(d, w, r, rec)
				}
			}}.start),
	}
}

// contentFaults compare the content instead of the key, or do not report what they found.
func contentFaults() []Service {
	return []Service{
		fault("the old result without a warning", "As in workflow engines: another payload under a known id gets the first one's result, as if it were its own.",
			by("MIS-02", "MIS-03", "MIS-04", "MIS-05", "MIS-06", "MIS-07", "SIZE-07"), recipe{decisions: func(d *Decisions) {
				d.Mismatch = func(d *Door, w http.ResponseWriter, r *http.Request, rec *Record) { d.repeat(w, r, rec) }
			}}.start),
		fault("one body, one request", "A body that was seen a moment ago counts as a double click, whatever its key: two equal orders are impossible.",
			by("BASIC-07", "MIS-01", "MIS-03", "MIS-08", "MIS-11", "SIZE-07"), recipe{decisions: func(d *Decisions) {
				d.Key = func(r *http.Request) (string, error) {
					if _, err := ReadKey(r); err != nil {
						return "", err
					}
					body, err := ReadBody(r)
					r.Body = readable(body)
					return digest(string(body)), err
				}
			}}.start),
		fault("two equal orders are a conflict", "A body that was seen before is refused with 409, whatever its key: the second coffee cannot be ordered.",
			by("BASIC-01"), recipe{
				decisions: func(d *Decisions) {
					seen := &Memory{retention: time.Hour}
					right := d.Claim
					d.Claim = func(m *Memory, life Life, id, asked string) (*Record, bool) {
						rec, mine := right(m, life, id, asked)
						if _, first := seen.Claim(nil, asked, id); mine && !first {
							m.Settle(rec, nil)
							return rec, false
						}
						return rec, mine
					}
				},
				change: func(c *check.Config) { c.Template.Body = []byte(`{"number":"coffee","amount":1}`) },
			}.start),
		fault("refusals are plain text", "The refusals are not machine-readable, and no policy is published.",
			by("BASIC-11", "KEY-14", "MIS-12"), recipe{decisions: func(d *Decisions) {
				d.Silent = true
				d.Refuse = func(w http.ResponseWriter, status int, detail string) {
					name, _, _ := strings.Cut(detail, ":")
					http.Error(w, name, status)
				}
			}}.start),
		fault("another body is a bad gateway", "The exception for a reused key has no mapping, and gets the framework's default status.",
			by("MIS-03", "MIS-07", "ERR-02"), recipe{decisions: func(d *Decisions) {
				d.Mismatch = func(d *Door, w http.ResponseWriter, _ *http.Request, _ *Record) {
					d.Refuse(w, http.StatusInternalServerError, "unexpected")
				}
			}}.start),
	}
}

func inParts(c *check.Config) {
	c.Template.Header = []wire.Field{{Name: "Content-Type", Value: "multipart/form-data; boundary=zoo"}}
	c.Template.Body = []byte("--zoo\r\nContent-Disposition: form-data; name=\"number\"\r\n\r\n{{uuid}}\r\n" +
		"--zoo\r\nContent-Disposition: form-data; name=\"amount\"\r\n\r\n{{n}}\r\n--zoo--\r\n")
}

func byForm(c *check.Config) {
	form := []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}}
	c.Template.Header, c.Template.Body = form, []byte("number={{uuid}}&amount={{n}}")
	c.Failing.Header, c.Failing.Body = form, []byte("number=fail-{{uuid}}&amount={{n}}")
	c.Invalid.Header, c.Invalid.Body = form, []byte("number=&amount={{n}}")
}

func byMembersForm(c *check.Config) {
	byForm(c)
	TwoMembers(c)
}

func compared(fingerprint func(*http.Request, []byte) string) func(*Decisions) {
	return func(d *Decisions) { d.Fingerprint = fingerprint }
}
