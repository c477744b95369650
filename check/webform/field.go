package webform

import "slices"

// Kind is the kind of a field on its page, such as "hidden", "text", "textarea", "select" or "submit": the type of an
// input, otherwise the name of the element. It is empty for a field that is not on a page.
type Kind string

// The kinds that are distinguished.
const (
	Hidden   Kind = "hidden"
	Text     Kind = "text"
	TextArea Kind = "textarea"
	Number   Kind = "number"
	Select   Kind = "select"
	Submit   Kind = "submit"
)

// Field is one name and one value of a form. A name may come several times.
type Field struct {
	Name, Value string
	Kind        Kind
	// File is set for a file, whose content is Value; nil for everything else.
	File *File
}

// File describes a file in a form, apart from its content. The zero value means that no file was chosen.
type File struct{ Name, Type string }

// Overlay puts typed values into the fields of a page: the values of a name replace all of the page's fields of that
// name, at the place of the first; names that the page does not have follow at the end. If keep is not nil, it reports
// whether the page's field is kept.
func Overlay(page, typed []Field, keep func(Field) bool) []Field {
	kept := map[string]bool{}
	for _, f := range page {
		if keep != nil && keep(f) {
			kept[f.Name] = true
		}
	}
	var all []Field
	put := map[string]bool{}
	add := func(name string, kind Kind) {
		put[name] = true
		for _, f := range typed {
			if f.Name == name {
				f.Kind = kind
				all = append(all, f)
			}
		}
	}
	for _, f := range page {
		switch {
		case put[f.Name]:
		case kept[f.Name] || !has(typed, f.Name):
			all = append(all, f)
		default:
			add(f.Name, f.Kind)
		}
	}
	for _, f := range typed {
		if !put[f.Name] && !kept[f.Name] {
			add(f.Name, "")
		}
	}
	return all
}

func has(fields []Field, name string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name })
}
