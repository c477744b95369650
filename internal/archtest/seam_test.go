package archtest_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/archtest"
)

func TestSeam(t *testing.T) {
	t.Parallel()
	const machine = `"` + archtest.Module + `/internal/machine"`
	fsys := fstest.MapFS{
		"begin.go":                 {Data: []byte("package semel\n\nimport " + machine + "\n\nvar _ = machine.Decide\n")},
		"claim.go":                 {Data: []byte("package semel\n\nimport (\n\t" + machine + "\n)\n\nvar _ = machine.LineLapse\n")},
		"store/memstore/settle.go": {Data: []byte("package memstore\n\nimport (\n\ttable " + machine + "\n)\n")},
		"store/memstore/sweep.go":  {Data: []byte("package memstore\n\nimport . " + machine + "\n")},
		"store/memstore/claim.go":  {Data: []byte("package memstore\n\nvar t = machine.Table(3)\n")},
		"internal/model/main.go":   {Data: []byte("package main\n\nvar t = machine.Table(3)\n")},
	}
	var names []string
	for name := range fsys {
		names = append(names, name)
	}
	tree, err := archtest.TreeOf(fsys, names)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, violation := range archtest.CheckSeam(tree) {
		got = append(got, violation.Where)
	}
	want := []string{"claim.go:7", "store/memstore/claim.go:3", "store/memstore/settle.go:4", "store/memstore/sweep.go:3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
