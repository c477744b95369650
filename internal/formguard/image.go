package formguard

import "strings"

// ImagePrefix begins the value of a field that [Scan] takes for a note: the name of the
// image button that follows it. A browser sends where such a button was pressed,
// as NAME.x and NAME.y behind the note. A second press is elsewhere, and is the same wish;
// a field of that name without the note counts.
const ImagePrefix = Prefix + "image."

// pressed holds the names of an image button's fields that may still come.
type pressed []string

// note starts with the value of a token field, if it is a note.
func (p *pressed) note(value string) {
	if name, ok := strings.CutPrefix(value, ImagePrefix); ok {
		*p = pressed{strings.TrimPrefix(name+".x", "."), strings.TrimPrefix(name+".y", ".")}
	}
}

// takes returns the name of the field if it is the next one of the button, with a number.
func (p *pressed) takes(f format, sp *span) string {
	if len(*p) == 0 || !sp.begins {
		return ""
	}
	name, value := f.pair(*sp)
	if name != (*p)[0] || value == "" || strings.Trim(value, "0123456789") != "" {
		*p = nil
		return ""
	}
	*p = (*p)[1:]
	return name
}
