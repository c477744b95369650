package checkcmd

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/cli"
)

// keyPlaceFlags select the kind of service, and the place of its keys.
type keyPlaceFlags struct {
	profile string
	in      string
	raw     bool
}

func (f *keyPlaceFlags) register(flags *pflag.FlagSet, c *check.Config) {
	flags.StringVar(&f.profile, "profile", check.Profiles()[0].Name, "`name` of the kind of service: "+strings.Join(profileNames(), ", "))
	flags.StringVar(&f.in, "key-in", "", "the `place` of the key: header:NAME, json:/pointer, form:NAME or query:NAME (default: that of the profile)")
	flags.StringVar(&c.NewKey, "key", "", "`text` of a new key, with {{uuid}} or {{n}} in it (default: semel-check- and 24 digits)")
	flags.BoolVar(&f.raw, "raw-key", false, "write the key into its header as it is, not as \"text in quotes\"")
}

func profileNames() []string {
	var names []string
	for _, profile := range check.Profiles() {
		names = append(names, profile.Name)
	}
	return names
}

// into chooses the profile and the place. Without --key-in the key goes to the place of the recorded key.
func (f *keyPlaceFlags) into(c *check.Config, seen wire.Field) error {
	profile, ok := check.ProfileNamed(f.profile)
	if !ok {
		return cli.Usagef("--profile %q must be one of %s", f.profile, strings.Join(profileNames(), ", "))
	}
	c.Profile, c.Key = profile, profile.Key
	in, name, _ := strings.Cut(f.in, ":")
	switch {
	case f.in == "" && seen.Name != "" && c.Key.In == "header":
		c.Key.Name = seen.Name
		if seen.Value != "" {
			c.Key.Quoted = strings.HasPrefix(seen.Value, `"`)
		}
	case f.in == "":
	case name == "" || !slices.Contains([]string{"header", "json", "form", "query"}, in):
		return cli.Usagef("--key-in %q is not a place: write header:NAME, json:/pointer, form:NAME or query:NAME", f.in)
	case in == "json" && !strings.HasPrefix(name, "/"):
		return cli.Usagef("--key-in %q has no JSON pointer: write it as json:/request_id", f.in)
	default:
		c.Key = check.KeyPlace{In: in, Name: name, Quoted: in == "header" && profile.Key.Quoted}
	}
	if f.raw {
		c.Key.Quoted = false
	}
	return nil
}
