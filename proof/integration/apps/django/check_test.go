package django_test

import (
	"path/filepath"
	"testing"

	"github.com/semel-dev/semel/check"
	"github.com/semel-dev/semel/check/effects"
	"github.com/semel-dev/semel/check/wire"
	"github.com/semel-dev/semel/internal/cli/opendb"
	"github.com/semel-dev/semel/proof/integration/apps"
)

// The checks find out from outside what the tests of this package know: without
// Semel a form that is sent twice makes two invoices, and with it one. What is
// answered is the same list both times, so only the table can tell.
func TestCheck(t *testing.T) {
	t.Parallel()
	apps.BothDoors(t, func(t *testing.T, d apps.Door) {
		site := start(t)
		address := site.address
		if d.Protected {
			address = apps.Protect(t, address, rules)
		}
		report := apps.Check(t, "form", &check.Config{
			Template: check.Template{
				Method: "POST", URL: "http://" + address + "/admin/shop/invoice/add/",
				Body: []byte("customer=Emmy+{{n}}&amount=12.50&state=open&note=two+lines&_save=Save"),
			},
			Page:     &check.Page{URL: "http://" + address + "/admin/shop/invoice/add/", Form: "invoice_form"},
			Login:    logInByPage(address),
			Counters: []check.Counter{site.invoices()}, Level: check.LevelStrict,
		})
		if d.Protected {
			apps.Wants(t, report, "", "checks passed: what was sent twice happened once.")
			return
		}
		apps.Wants(t, report, `
			BASIC-02 BASIC-08 BASIC-10
			RACE-01 RACE-02 RACE-03 RACE-04
			LOST-03 LOST-04 LOST-05 LOST-06 LOST-07 LOST-08 LOST-10
			SIZE-03 SIZE-06
			FORM-01 FORM-03`, "checks failed: a repeated request is executed again.")
	})
}

// logInByPage sends Django's own form, with its token.
func logInByPage(address string) *check.Login {
	at := "http://" + address + "/admin/login/?next=/admin/"
	return &check.Login{
		Template: check.Template{
			Method: "POST", URL: at, Body: []byte("username=" + user + "&password=" + password),
			Header: []wire.Field{{Name: "Content-Type", Value: "application/x-www-form-urlencoded"}},
		},
		Page: &check.Page{URL: at, Form: "login-form"},
	}
}

// invoices counts the rows of Django's own table.
func (s *site) invoices() check.Counter {
	s.tb.Helper()
	db, err := opendb.Open(s.tb.Context(), "sqlite:"+filepath.Join(s.dir, "site.db"), opendb.Read)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = db.Close() })
	rows, err := effects.SQL("Django's database", db.DB, db.Dialect, "SELECT count(*) FROM shop_invoice")
	if err != nil {
		s.tb.Fatal(err)
	}
	return rows
}
