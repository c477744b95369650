package jsonserver_test

import (
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/proof/integration/apps"
)

// The checks find out from outside what the tests of this package know: without
// Semel a form that is sent twice makes two posts, and with it one.
func TestCheckForm(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, address := at(t, d)
		report := apps.Check(t, "form", &check.Config{
			Template: check.Template{Method: "POST", URL: "http://" + address + "/posts", Body: []byte("title=Symmetries+{{n}}&text=two+lines")},
			Page:     &check.Page{URL: "http://" + address + "/"},
			Counters: server.counts("posts"), Level: check.LevelStrict,
		})
		if d.Protected {
			apps.Wants(t, report, "", "checks passed: what was sent twice happened once.")
			return
		}
		apps.Wants(t, report, `
			BASIC-02 BASIC-04 BASIC-05 BASIC-08 BASIC-10 BASIC-12
			RACE-01 RACE-02 RACE-03 RACE-04 RACE-06
			LOST-03 LOST-04 LOST-05 LOST-06 LOST-07 LOST-08 LOST-10
			SIZE-02 SIZE-03 SIZE-06
			FORM-01 FORM-02 FORM-03`, "checks failed: a repeated request is executed again.")
	})
}

// A program's keys mean nothing to json-server, and are all that the gateway
// needs.
func TestCheckKey(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, address := at(t, d)
		report := apps.Check(t, "ietf", &check.Config{
			Template: check.Template{
				Method: "POST", URL: "http://" + address + "/comments",
				Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}}, Body: []byte(`{"text":"comment {{n}}"}`),
			},
			Counters: server.counts("comments"), Level: check.LevelStrict,
		})
		if d.Protected {
			apps.Wants(t, report, "", "checks passed: what was sent twice happened once.")
			return
		}
		apps.Wants(t, report, `
			BASIC-02 BASIC-04 BASIC-05 BASIC-08 BASIC-10 BASIC-11 BASIC-12
			KEY-03 KEY-04 KEY-05 KEY-07 KEY-12 KEY-13
			MIS-01 MIS-03 MIS-07 MIS-08 MIS-10 MIS-11
			RACE-01 RACE-02 RACE-03 RACE-04 RACE-06
			LOST-03 LOST-04 LOST-05 LOST-06 LOST-07 LOST-08 LOST-10
			SIZE-01 SIZE-02 SIZE-03 SIZE-04 SIZE-05 SIZE-06 SIZE-07`, "checks failed: a repeated request is executed again.")
	})
}

// counts counts the rows of a list at json-server's own door, in both ways in
// which it tells how many there are. They have to agree.
func (s *server) counts(list string) []check.Counter {
	s.tb.Helper()
	length, err := effects.JSON(nil, "http://"+s.address+"/"+list, "", nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	total, err := effects.Header(nil, "http://"+s.address+"/"+list+"?_page=1&_limit=1", "X-Total-Count", nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	return []check.Counter{length, total}
}
