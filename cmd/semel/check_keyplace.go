package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
)

// keyPlaceFlags say what kind of service it is, and where it takes keys.
type keyPlaceFlags struct {
	profile                   string
	header, json, form, query string
	raw                       bool
	key                       string // of a new intent
}

func (f *keyPlaceFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.profile, "profile", check.Profiles()[0].Name, "`name` of what the service is expected to do: "+strings.Join(profileNames(), ", "))
	flags.StringVar(&f.header, "key-header", "", "the key is in the header of this `name`")
	flags.StringVar(&f.json, "key-json", "", "the key is in the JSON body, at this `pointer`, such as /request_id")
	flags.StringVar(&f.form, "key-form", "", "the key is in the form field of this `name`")
	flags.StringVar(&f.query, "key-query", "", "the key is in the query parameter of this `name`")
	flags.StringVar(&f.key, "key", "", "`text` of a new key, with {{uuid}} or {{n}} in it (default: semel-check-, and 24 digits)")
	flags.BoolVar(&f.raw, "raw-key", false, "write the header's key as it is, not as \"text in quotes\"")
}

func profileNames() []string {
	var names []string
	for _, profile := range check.Profiles() {
		names = append(names, profile.Name)
	}
	return names
}

// into chooses the profile and the place. Where no flag says so, the key is
// where the source of the request had one.
func (f *keyPlaceFlags) into(c *check.Config, seen wire.Field) error {
	profile, ok := check.ProfileNamed(f.profile)
	if !ok {
		return usagef("--profile %q is none of %s", f.profile, strings.Join(profileNames(), ", "))
	}
	c.Profile, c.Key, c.NewKey = profile, profile.Key, f.key
	var given []string
	for _, one := range []struct {
		flag  string
		place check.KeyPlace
	}{
		{"--key-header", check.KeyPlace{In: check.KeyInHeader, Name: f.header, Quoted: profile.Key.Quoted}},
		{"--key-json", check.KeyPlace{In: check.KeyInJSON, Name: f.json}},
		{"--key-form", check.KeyPlace{In: check.KeyInForm, Name: f.form}},
		{"--key-query", check.KeyPlace{In: check.KeyInQuery, Name: f.query}},
	} {
		if one.place.Name != "" {
			c.Key = one.place
			given = append(given, one.flag)
		}
	}
	switch {
	case len(given) > 1:
		return usagef("%s and %s exclude each other: a key is in one place", given[0], given[1])
	case len(given) == 0 && seen.Name != "" && c.Key.In == check.KeyInHeader:
		c.Key = check.KeyPlace{In: check.KeyInHeader, Name: seen.Name, Quoted: profile.Key.Quoted}
		if seen.Value != "" {
			c.Key.Quoted = strings.HasPrefix(seen.Value, `"`)
		}
	case f.json != "" && !strings.HasPrefix(f.json, "/"):
		return usage(fmt.Errorf("--key-json %q is no JSON pointer: write it as /request_id", f.json))
	}
	if f.raw {
		c.Key.Quoted = false
	}
	return nil
}
