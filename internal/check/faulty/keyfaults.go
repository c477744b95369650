package faulty

import (
	"net/http"
	"slices"
	"strings"
)

// keyFaults read keys wrongly.
func keyFaults() []Service {
	return []Service{
		{
			Name: "ignores keys", Says: "The API accepts the header and documents it, but has no code for it.",
			Caught: slices.Concat(doneAgain(), doneTogether(), []string{
				"BASIC-04", "KEY-03", "KEY-04", "KEY-05", "KEY-07", "KEY-12", "KEY-13", "MIS-01", "MIS-03", "MIS-08", "MIS-10", "MIS-11", "SIZE-07",
			}),
			Depends: []string{"LOST-03"},
			Start:   recipe{decisions: func(d *Decisions) { d.Methods = nil }}.start,
		},
		{
			Name: "first line only", Says: "Of two header lines the first counts: the usual Header.Get, used without a thought.",
			Caught: []string{"KEY-04"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				return parseKey(r.Header.Get("Idempotency-Key"))
			})}.start,
		},
		{
			Name: "an empty key is a key", Says: "The code checks whether the header exists, not whether it is empty: clients with a bug share one record.",
			Caught: []string{"KEY-02"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				if lines := r.Header.Values("Idempotency-Key"); len(lines) == 1 && strings.Trim(lines[0], `"`) == "" {
					return "", nil
				}
				return ReadKey(r)
			})}.start,
		},
		{
			Name: "keys cut at 64, before a list", Says: "The column truncates here as well, and the answer is 303 to the page of a list: only the count shows that the second order is missing.",
			Caught: []string{"KEY-06"},
			Start:  recipe{behaviour: Behaviour{Lists: true}, change: byForm, decisions: spelled(func(key string) string { return key[:min(64, len(key))] })}.start,
		},
		{
			Name: "keys cut at 64", Says: "The column is a VARCHAR(64), and the database, or the code in front of it, truncates longer keys.",
			Caught: []string{"KEY-06"},
			Start:  recipe{decisions: spelled(func(key string) string { return key[:min(64, len(key))] })}.start,
		},
	}
}

// comparingFaults confuse two keys, or treat one as two.
func comparingFaults() []Service {
	return []Service{
		{
			Name: "case does not matter", Says: "The column has the database's usual collation, which ignores case; or the code uses ToLower.",
			Caught: []string{"KEY-10"},
			Start:  recipe{decisions: spelled(strings.ToLower)}.start,
		},
		{
			Name: "trailing spaces do not matter", Says: "CHAR and PAD SPACE collations ignore trailing spaces; or the code uses TrimSpace.",
			Caught: []string{"KEY-11"},
			Start:  recipe{decisions: spelled(strings.TrimSpace)}.start,
		},
		{
			Name: "accents do not matter", Says: "MySQL's usual collations treat é as e, so that two clients' keys are one.",
			Caught: []string{"KEY-09"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				lines := r.Header.Values("Idempotency-Key")
				for i := range lines {
					lines[i] = withoutAccents(lines[i])
				}
				return ReadKey(r)
			})}.start,
		},
		{
			Name: "quotes belong to the key", Says: "The draft was not read to the end: the quotes of a structured field are stored as part of the key.",
			Caught: []string{"KEY-03", "KEY-13"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				key, err := ReadKey(r)
				if err != nil {
					return key, err
				}
				return r.Header.Get("Idempotency-Key"), nil
			})}.start,
		},
		{
			Name: "parameters belong to the key", Says: "The value is split at its quotes by hand, and the rest after them is kept.",
			Caught: []string{"KEY-13"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				key, err := ReadKey(r)
				_, parameters, _ := strings.Cut(r.Header.Get("Idempotency-Key"), `";`)
				return key + parameters, err
			})}.start,
		},
		{
			Name: "any text is a key", Says: "Any content of the header is the key, even half of a structured value.",
			Caught: []string{"KEY-12"},
			Start: recipe{decisions: keyed(func(r *http.Request) (string, error) {
				key, err := ReadKey(r)
				if text := r.Header.Get("Idempotency-Key"); err != nil && len(r.Header.Values("Idempotency-Key")) == 1 && strings.Count(text, `"`)%2 == 1 {
					return strings.ReplaceAll(text, `"`, ""), nil
				}
				return key, err
			})}.start,
		},
	}
}

// refusingFaults do not refuse keys, or refuse them badly.
func refusingFaults() []Service {
	return []Service{
		{
			Name: "control bytes are replaced", Says: "A lenient proxy replaces unprintable bytes by underscores: another key than the one that was sent.",
			Caught: []string{"KEY-08"},
			Start:  recipe{front: lenient}.start,
		},
		{
			Name: "the same caller at the same place", Says: "The server debounces: a second request of one caller to one path counts as a double click, whatever its content.",
			Caught: []string{"BASIC-01", "BASIC-02", "BASIC-06", "BASIC-07", "BASIC-09", "BASIC-10"},
			Start: only(recipe{decisions: func(d *Decisions) {
				d.Key = func(r *http.Request) (string, error) { return r.URL.Path, nil }
				d.Fingerprint = func(*http.Request, []byte) string { return "" }
			}}.start, "BASIC"),
		},
		{
			Name: "a long key is an accident", Says: "The column holds 255 characters, no code checks the length, and the database error becomes a 500.",
			Caught: []string{"KEY-07"},
			Echoes: []string{"KEY-06"},
			Start: recipe{decisions: func(d *Decisions) {
				d.Refuse = func(w http.ResponseWriter, status int, detail string) {
					if status == http.StatusBadRequest && strings.HasPrefix(detail, "key-too-long") {
						status = http.StatusInternalServerError
					}
					refuse(w, status, detail)
				}
			}}.start,
		},
		{
			Name: "a missing key is an accident", Says: "The key is required, and the line that reads it panics without one.",
			Caught: []string{"KEY-01"},
			Start: recipe{decisions: func(d *Decisions) {
				d.Required = true
				d.Refuse = func(w http.ResponseWriter, status int, detail string) {
					if strings.HasPrefix(detail, "key-missing") {
						status = http.StatusInternalServerError
					}
					refuse(w, status, detail)
				}
			}}.start,
		},
	}
}

// keyed replaces how the key is read.
func keyed(read func(*http.Request) (string, error)) func(*Decisions) {
	return func(d *Decisions) { d.Key = read }
}

// spelled changes a key that was read.
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
