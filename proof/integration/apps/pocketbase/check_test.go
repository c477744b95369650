package pocketbase_test

import (
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/proof/integration/apps"
)

// The checks find out from outside what the tests of this package know: without
// Semel a key means nothing to PocketBase, and with it it is all that is needed.
func TestCheckKey(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, person, address := open(t, d)
		const other = "sofya@example.test"
		server.must("/api/collections/users/records", map[string]any{"email": other, "password": password, "passwordConfirm": password})
		report := apps.Check(t, "ietf", &check.Config{
			Template: check.Template{
				Method: "POST", URL: "http://" + address + payments,
				Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
				Body:   []byte(`{"customer":"Emmy {{n}}","amount":12.5}`),
			},
			User: known(person), Other: known(logIn(t, address, "users", other)),
			Counters: server.counts("payments"), Level: check.LevelStrict,
		})
		if d.Protected {
			apps.Wants(t, report, "", "checks passed: what was sent twice happened once.")
			return
		}
		apps.Wants(t, report, `
			BASIC-02 BASIC-04 BASIC-08 BASIC-10 BASIC-11
			KEY-03 KEY-04 KEY-05 KEY-07 KEY-12 KEY-13
			MIS-01 MIS-03 MIS-08 MIS-10 MIS-11
			RACE-01 RACE-02 RACE-03 RACE-04 RACE-06
			LOST-03 LOST-04 LOST-05 LOST-06 LOST-07 LOST-08 LOST-10
			SIZE-01 SIZE-02 SIZE-03 SIZE-05 SIZE-06 SIZE-07`, "checks failed: a repeated request is executed again.")
	})
}

// Clients that cannot be changed send no key: there the gateway derives one from
// what is sent, and the same bytes are one intent, as with a page's form.
func TestCheckDerivedKey(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		server, person, address := open(t, d)
		report := apps.Check(t, "form", &check.Config{
			Template: check.Template{
				Method: "POST", URL: "http://" + address + invoices,
				Header: []wire.Field{{Name: "Content-Type", Value: "application/json"}},
				Body:   []byte(`{"customer":"Emmy {{n}}","amount":12.5}`),
			},
			User: known(person), Counters: server.counts("invoices"), Level: check.LevelStrict,
		})
		if d.Protected {
			apps.Wants(t, report, "", "checks passed: what was sent twice happened once.")
			return
		}
		apps.Wants(t, report, `
			BASIC-02 BASIC-04 BASIC-08 BASIC-10
			RACE-01 RACE-02 RACE-03 RACE-04 RACE-06
			LOST-03 LOST-04 LOST-05 LOST-06 LOST-07 LOST-08 LOST-10
			SIZE-02 SIZE-03 SIZE-05 SIZE-06
			FORM-01 FORM-02 FORM-03`, "checks failed: a repeated request is executed again.")
	})
}

// known is a person as checks know them.
func known(person *apps.Person) *check.User {
	return &check.User{Header: []wire.Field{{Name: "Authorization", Value: person.Header.Get("Authorization")}}}
}

// counts counts the records of a collection, at PocketBase's own door.
func (s *server) counts(collection string) []check.Counter {
	s.tb.Helper()
	total, err := effects.JSON(nil, "http://"+s.address+"/api/collections/"+collection+"/records?perPage=1&fields=id", "/totalItems", nil)
	if err != nil {
		s.tb.Fatal(err)
	}
	return []check.Counter{total}
}
