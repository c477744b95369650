package gormmodel

import (
	"reflect"
	"strings"
)

// settings holds what a gorm tag says, by names in upper case.
type settings map[string]string

// parse reads the gorm tag of a field. A backslash keeps a semicolon.
func parse(tag string) settings {
	all := settings{}
	names := strings.Split(reflect.StructTag(tag).Get("gorm"), ";")
	for i := 0; i < len(names); i++ {
		one := names[i]
		for strings.HasSuffix(one, `\`) && i+1 < len(names) {
			i++
			one = strings.TrimSuffix(one, `\`) + ";" + names[i]
		}
		name, value, valued := strings.Cut(one, ":")
		name = strings.ToUpper(strings.TrimSpace(name))
		switch {
		case name == "":
		case valued && all[name] != "" && all[name] != name:
			all[name] += "\x00" + value // of several indexes
		case valued:
			all[name] = value
		default:
			all[name] = name
		}
	}
	return all
}

// is reports whether a tag names a setting and does not deny it.
func (s settings) is(names ...string) bool {
	for _, name := range names {
		if value, ok := s[name]; ok && !strings.EqualFold(value, "false") {
			return true
		}
	}
	return false
}

// membership is that of a field in an index.
type membership struct {
	name    string // empty for an index of the field alone
	unique  bool
	partial bool // it covers some rows only, or an expression
}

// indexes returns the indexes that a field belongs to.
func (s settings) indexes() (all []membership) {
	if s.is("UNIQUE") {
		all = append(all, membership{unique: true})
	}
	for _, setting := range []string{"UNIQUEINDEX", "INDEX"} {
		if s[setting] == "" {
			continue
		}
		for one := range strings.SplitSeq(s[setting], "\x00") {
			name, options, _ := strings.Cut(one, ",")
			options = strings.ToUpper(options)
			m := membership{
				unique:  setting == "UNIQUEINDEX" || strings.Contains(options, "UNIQUE"),
				partial: strings.Contains(options, "WHERE:") || strings.Contains(options, "EXPRESSION:"),
			}
			if name = strings.TrimSpace(name); name != setting {
				m.name = name
			}
			if _, composite, ok := strings.Cut(options, "COMPOSITE:"); ok && m.name == "" {
				composite, _, _ = strings.Cut(composite, ",")
				m.name = "composite " + composite
			}
			all = append(all, m)
		}
	}
	return all
}
