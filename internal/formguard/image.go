package formguard

import "strings"

// ImagePrefix begins the value of a field that [Scan] takes for a note: the name of the
// image button that follows it. A browser sends where such a button was pressed,
// as NAME.x and NAME.y behind the note. A second press is elsewhere, and is the same wish;
// a field of that name without the note counts.
const ImagePrefix = Prefix + "image."

// pressed holds the names of an image button's fields that may still come.
type pressed []string

// noted starts with the value of a token field, and reports whether it is a note.
func (p *pressed) noted(value string) bool {
	name, ok := strings.CutPrefix(value, ImagePrefix)
	switch {
	case !ok:
	case name == "":
		*p = pressed{"x", "y"}
	default:
		*p = pressed{name + ".x", name + ".y"}
	}
	return ok
}

// takes reports whether the field is the next one of the button, with a number.
func (p *pressed) takes(name, value string) bool {
	if len(*p) == 0 || name != (*p)[0] || value == "" || strings.Trim(value, "0123456789") != "" {
		*p = nil
		return false
	}
	*p = (*p)[1:]
	return true
}
