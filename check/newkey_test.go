package check_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/semel-dev/semel/check"
)

// uuidDesk only accepts UUIDs as keys.
func uuidDesk() *desk {
	d := newDesk()
	parse := d.key
	d.key = func(lines []string) (string, int) {
		key, refusal := parse(lines)
		if refusal == 0 && (len(key) != 36 || strings.Count(key, "-") != 4) {
			return "", http.StatusBadRequest
		}
		return key, refusal
	}
	return d
}

func TestKeysOfTheFormThatIsAskedFor(t *testing.T) {
	t.Parallel()
	d := uuidDesk()
	config := trial(t, d, d)
	config.NewKey = "{{uuid}}"
	report := expectBad(t, config)
	if got := resultOf(t, report, "BASIC-02").Verdict; got != check.Pass {
		t.Errorf("BASIC-02: %s", got)
	}
}

// TestKeysOfAnotherFormAreFound: the run goes on with the form of keys that the service takes, and says how to ask for it.
func TestKeysOfAnotherFormAreFound(t *testing.T) {
	t.Parallel()
	bare := func(quoted bool) func(*desk) {
		return func(d *desk) {
			parse := d.key
			d.key = func(lines []string) (string, int) {
				if len(lines) == 1 && strings.HasPrefix(lines[0], `"`) != quoted {
					return "", http.StatusUnprocessableEntity
				}
				return parse(lines)
			}
		}
	}
	uuids := func(d *desk) { d.key = uuidDesk().key }
	for name, one := range map[string]struct {
		profile string
		takes   []func(*desk)
		says    string
	}{
		"UUIDs":        {"ietf", []func(*desk){uuids}, "--key '{{uuid}}', --raw-key"},
		"raw":          {"ietf", []func(*desk){bare(false)}, "give --raw-key"},
		"bare UUIDs":   {"ietf", []func(*desk){uuids, bare(false)}, "--key '{{uuid}}', --raw-key"},
		"quoted UUIDs": {"ietf", []func(*desk){uuids, bare(true)}, "--key '{{uuid}}', keys in quotes"},
		"quoted":       {"stripe", []func(*desk){bare(true)}, "give keys in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			for _, takes := range one.takes {
				takes(d)
			}
			config := trial(t, d, d)
			config.Profile, _ = check.ProfileNamed(one.profile)
			config.Only, config.Level = []string{"basics", "KEY-06", "KEY-10"}, check.LevelMust
			report := expectBad(t, config)
			if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], one.says) {
				t.Errorf("notes: %q, want %q in one", report.Notes, one.says)
			}
		})
	}
}

func TestKeysOfAnUnknownFormAreRefused(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.key = func([]string) (string, int) { return "", http.StatusBadRequest }
	config := trial(t, d, d)
	config.Only = []string{"BASIC-01", "keys"}
	_, report := runTrial(t, config)
	if got := resultOf(t, report, "BASIC-01").Verdict; got != check.Fail {
		t.Errorf("BASIC-01: %s", got)
	}
	// Requests that are refused anyway say nothing about keys.
	for _, id := range []string{"KEY-02", "KEY-05", "KEY-09", "KEY-10"} {
		if got := resultOf(t, report, id).Verdict; got != check.Incomplete {
			t.Errorf("%s: %s", id, got)
		}
	}
}

func TestNewKeyHasToVary(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"mine":            "is the same for every intent",
		"{{now}}":         "is the same for every intent",
		"{{key}}-{{n}}":   "has {{key}}, which a key cannot be made of",
		"{{var:me}}{{n}}": "has {{var:me}}, which a key cannot be made of",
	} {
		d := newDesk()
		config := trial(t, d, d)
		config.NewKey = key
		if _, err := check.NewPlan(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", key, err)
		}
	}
	d := newDesk()
	config := trial(t, d, d)
	config.Profile, _ = check.ProfileNamed("form")
	config.NewKey = "{{uuid}}"
	if _, err := check.NewPlan(config); err == nil || !strings.Contains(err.Error(), "has no keys") {
		t.Errorf("without keys: %v", err)
	}
}
