package rules_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/semel-dev/semel/internal/texts"
	"github.com/semel-dev/semel/rules"
)

// TestConditions: a match has the conditions that are written, in the types of their places.
func TestConditions(t *testing.T) {
	t.Parallel()
	file, err := rules.Parse("conditions.yaml", []byte(`version: 1
routes:
  - name: save
    match:
      path: /doku.php
      query: {do: [save, draft]}
      header: {next-action: {present: true}}
      form: {"do[save]": "1"}
  - name: order
    match:
      path: /graphql
      json: {/operationName: CreateOrder, /version: [2, 2.5, "2"], /dry: false, /order/id: {present: true}}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"query do = save or draft", "header Next-Action is present", "form do[save] = 1"},
		{`json /operationName = "CreateOrder"`, `json /version = 2 or 2.5 or "2"`, "json /dry = false", "json /order/id is present"},
	}
	var got [][]string
	for _, route := range file.Routes {
		got = append(got, texts.Of(route.Match.Conditions, func(c rules.MatchCondition) string { return c.String() }))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
