package faulty

import (
	"net/http"
	"slices"
	"strings"
)

// keyFaults read keys wrongly, confuse two keys, or treat one as two.
func keyFaults() []Service {
	return []Service{
		fault("ignores keys", "The API accepts the header and documents it, but has no code for it.",
			by(slices.Concat(doneAgain(), doneTogether(), []string{
				"BASIC-04", "KEY-03", "KEY-04", "KEY-05", "KEY-07", "KEY-12", "KEY-13", "MIS-01", "MIS-03", "MIS-08", "MIS-10", "MIS-11", "SIZE-07",
			})...).perhaps("LOST-03"),
			recipe{decisions: func(d *Decisions) { d.Methods = nil }}.start),
		fault("first line only", "Of two header lines the first counts: the usual Header.Get, used without a thought.",
			by("KEY-04"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				return parseKey(r.Header.Get("Idempotency-Key"))
			})}.start),
		fault("an empty key is a key", "The code checks whether the header exists, not whether it is empty: clients with a bug share one record.",
			by("KEY-02"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				if lines := r.Header.Values("Idempotency-Key"); len(lines) == 1 && strings.Trim(lines[0], `"`) == "" {
					return "", nil
				}
				return ReadKey(r)
			})}.start),
		fault("keys cut at 64, before a list", "The column truncates here as well, and the answer is 303 to the page of a list: only the count shows that the second order is missing.",
			by("KEY-06"),
			recipe{behaviour: Behaviour{Lists: true}, change: byForm, decisions: spelled(func(key string) string { return key[:min(64, len(key))] })}.start),
		fault("keys cut at 64", "The column is a VARCHAR(64), and the database, or the code in front of it, truncates longer keys.",
			by("KEY-06"), recipe{decisions: spelled(func(key string) string { return key[:min(64, len(key))] })}.start),
		fault("case does not matter", "The column has the database's usual collation, which ignores case; or the code uses ToLower.",
			by("KEY-10"), recipe{decisions: spelled(strings.ToLower)}.start),
		fault("trailing spaces do not matter", "CHAR and PAD SPACE collations ignore trailing spaces; or the code uses TrimSpace.",
			by("KEY-11"), recipe{decisions: spelled(strings.TrimSpace)}.start),
		fault("accents do not matter", "MySQL's usual collations treat é as e, so that two clients' keys are one.",
			by("KEY-09"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				lines := r.Header.Values("Idempotency-Key")
				for i := range lines {
					lines[i] = withoutAccents(lines[i])
				}
				return ReadKey(r)
			})}.start),
		fault("quotes belong to the key", "The draft was not read to the end: the quotes of a structured field are stored as part of the key.",
			by("KEY-03", "KEY-13"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				key, err := ReadKey(r)
				if err != nil {
					return key, err
				}
				return r.Header.Get("Idempotency-Key"), nil
			})}.start),
		fault("parameters belong to the key", "The value is split at its quotes by hand, and the rest after them is kept.",
			by("KEY-13"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				key, err := ReadKey(r)
				_, parameters, _ := strings.Cut(r.Header.Get("Idempotency-Key"), `";`)
				return key + parameters, err
			})}.start),
		fault("any text is a key", "Any content of the header is the key, even half of a structured value.",
			by("KEY-12"), recipe{decisions: keyed(func(r *http.Request) (string, error) {
				key, err := ReadKey(r)
				if text := r.Header.Get("Idempotency-Key"); err != nil && len(r.Header.Values("Idempotency-Key")) == 1 && strings.Count(text, `"`)%2 == 1 {
					return strings.ReplaceAll(text, `"`, ""), nil
				}
				return key, err
			})}.start),
	}
}

// refusingFaults do not refuse keys, or refuse them badly.
func refusingFaults() []Service {
	return []Service{
		fault("control bytes are replaced", "A lenient proxy replaces unprintable bytes by underscores: another key than the one that was sent.",
			by("KEY-08"), recipe{front: lenient}.start),
		fault("the same caller at the same place", "The server debounces: a second request of one caller to one path counts as a double click, whatever its content.",
			by("BASIC-01", "BASIC-02", "BASIC-06", "BASIC-07", "BASIC-09", "BASIC-10"), only(recipe{decisions: func(d *Decisions) {
				d.Key = func(r *http.Request) (string, error) { return r.URL.Path, nil }
				d.Fingerprint = func(*http.Request, []byte) string { return "" }
			}}.start, "BASIC")),
		fault("a long key is an accident", "The column holds 255 characters, no code checks the length, and the database error becomes a 500.",
			by("KEY-07").echoed("KEY-06"), recipe{decisions: func(d *Decisions) {
				d.Refuse = func(w http.ResponseWriter, status int, detail string) {
					if status == http.StatusBadRequest && strings.HasPrefix(detail, "key-too-long") {
						status = http.StatusInternalServerError
					}
					refuse(w, status, detail)
				}
			}}.start),
		fault("a missing key is an accident", "The key is required, and the line that reads it panics without one.",
			by("KEY-01"), recipe{decisions: func(d *Decisions) {
				d.Required = true
				d.Refuse = func(w http.ResponseWriter, status int, detail string) {
					if strings.HasPrefix(detail, "key-missing") {
						status = http.StatusInternalServerError
					}
					refuse(w, status, detail)
				}
			}}.start),
	}
}

func keyed(read func(*http.Request) (string, error)) func(*Decisions) {
	return func(d *Decisions) { d.Key = read }
}

func spelled(change func(string) string) func(*Decisions) {
	return func(d *Decisions) {
		d.Key = func(r *http.Request) (string, error) {
			key, err := ReadKey(r)
			return change(key), err
		}
	}
}

// withoutAccents returns what a collation such as utf8mb4_general_ci compares.
func withoutAccents(text string) string {
	return strings.NewReplacer("é", "e", "è", "e", "ê", "e", "ë", "e", "á", "a", "à", "a", "ä", "a", "å", "a",
		"ö", "o", "ó", "o", "ü", "u", "ú", "u", "ñ", "n", "ç", "c").Replace(text)
}
