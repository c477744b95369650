package envelope

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type invoice struct {
	ID    string         `json:"id"`
	Cents int64          `json:"cents,omitempty"`
	Lines []line         `json:"lines"`
	Tags  map[string]int `json:"tags"`
	Next  *invoice       `json:"next,omitempty"`
}

type line struct {
	Text string
	Rate float64
	Raw  []byte
}

// A result costs a second reading only where JSON may not give it back.
func TestExactTypesAreNotReadBack(t *testing.T) {
	t.Parallel()
	for _, exact := range []any{1, "a", true, 1.5, []byte("a"), struct{}{}, invoice{}, &invoice{}, []invoice{}, map[int]line{}, [2]string{}} {
		if got := shapeOf(reflect.TypeOf(exact)); !got.exact || got.untyped {
			t.Errorf("%T is %+v, want it exact", exact, got)
		}
	}
	for _, changed := range []any{
		time.Time{},
		json.Number(""),
		json.RawMessage{},
		map[string]any{},
		[]any{},
		new(*int), new([]int),
		struct{ a int }{},
		struct{ line }{},
		struct {
			A int `json:"-"`
		}{},
		struct {
			A []int `json:",omitempty"`
		}{},
		struct {
			A int
			B int `json:"A"`
		}{},
		struct{ When *time.Time }{},
		struct {
			A int `json:",string"`
		}{},
	} {
		if shapeOf(reflect.TypeOf(changed)).exact {
			t.Errorf("%T is exact", changed)
		}
	}
}

func TestOnlyInterfacesTakeNumbersAsText(t *testing.T) {
	t.Parallel()
	for _, untyped := range []any{map[string]any{}, []any{}, struct{ A any }{}, struct{ A []map[string]any }{}, &struct{ A any }{}} {
		if !shapeOf(reflect.TypeOf(untyped)).untyped {
			t.Errorf("%T takes no json.Number", untyped)
		}
	}
}
