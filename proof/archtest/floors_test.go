package archtest_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/semel-dev/semel/proof/archtest"
)

func TestFloorsCatchForbiddenImports(t *testing.T) {
	t.Parallel()
	const semel = archtest.Module
	type packages = []archtest.Package
	for name, test := range map[string]struct {
		packages packages
		want     []string
	}{
		"down is fine": {packages: packages{
			{ImportPath: semel, Imports: []string{"context"}, Deps: []string{"context", "vendor/golang.org/x/sys/cpu"}},
			{ImportPath: semel + "/store/memstore", Imports: []string{semel}, Deps: []string{semel}},
			{ImportPath: semel + "/gateway", Imports: []string{semel, semel + "/semelhttp", "example.com/other"}},
			{ImportPath: semel + "/internal/cli/openstore", Imports: []string{semel + "/store/memstore"}},
		}},
		"own sub-packages are fine, both ways": {packages: packages{
			{ImportPath: semel + "/rules", Imports: []string{semel + "/rules/internal/text"}},
			{ImportPath: semel + "/rules/internal/text", Imports: []string{semel + "/rules"}},
			{ImportPath: semel + "/cmd/semel", Imports: []string{semel + "/cmd/semel/internal/verb"}},
		}},
		"ground may be imported from everywhere": {packages: packages{
			{ImportPath: semel, Imports: []string{semel + "/internal/must"}, Deps: []string{semel + "/internal/must"}},
			{ImportPath: semel + "/ids", Imports: []string{semel + "/internal/must"}},
		}},
		"exceptions are fine": {packages: packages{
			{ImportPath: semel + "/demo/stage", Imports: []string{semel + "/examples/invoices"}},
			{ImportPath: semel + "/dbguard", Imports: []string{semel + "/rules"}},
		}},
		"tests import what they need": {packages: packages{
			{ImportPath: semel, XTestImports: []string{semel + "/store/memstore", "example.com/other"}},
			{ImportPath: semel + "/semelhttp", XTestImports: []string{semel + "/store/sqlitestore"}},
			{ImportPath: semel + "/store/memstore", TestImports: []string{semel + "/store/storetest"}},
		}},
		"a package below internal is of the room of its name": {packages: packages{
			{ImportPath: semel + "/internal/rules/text", Imports: []string{semel}},
		}},
		"unknown package": {
			packages{{ImportPath: semel + "/attic"}, {ImportPath: semel + "/rulesets"}},
			[]string{
				semel + "/attic: has no floor: add it to Rooms in proof/archtest/floors.go",
				semel + "/rulesets: has no floor: add it to Rooms in proof/archtest/floors.go",
			},
		},
		"upwards": {
			packages{{ImportPath: semel + "/rules", Imports: []string{semel + "/check"}}},
			[]string{semel + "/rules: imports " + semel + "/check: it is on floor 2, and floor 1 may import lower floors only"},
		},
		"sideways": {
			packages{{ImportPath: semel + "/check", Imports: []string{semel + "/gateway/adminapi"}}},
			[]string{semel + "/check: imports " + semel + "/gateway/adminapi: it is on floor 2, and floor 2 may import lower floors only"},
		},
		"an exception holds one way": {
			packages{{ImportPath: semel + "/rules", Imports: []string{semel + "/dbguard"}}},
			[]string{semel + "/rules: imports " + semel + "/dbguard: it is on floor 1, and floor 1 may import lower floors only"},
		},
		"a store imports a store": {
			packages{{ImportPath: semel + "/store/pgstore/claims", Imports: []string{semel + "/store/memstore"}}},
			[]string{semel + "/store/pgstore/claims: imports " + semel + "/store/memstore: stores do not know each other"},
		},
		"a store imports a door": {
			packages{{ImportPath: semel + "/store/memstore", Imports: []string{semel + "/semelhttp"}}},
			[]string{semel + "/store/memstore: imports " + semel + "/semelhttp: stores do not know who calls them"},
		},
		"a door reaches a store through another room": {
			packages{{ImportPath: semel + "/gateway", Imports: []string{semel + "/check"}, Deps: []string{semel + "/check", semel + "/store/pgstore"}}},
			[]string{semel + "/gateway: reaches " + semel + "/store/pgstore: doors know semel.Store only; open the store in internal/cli/openstore"},
		},
		"a door links a driver": {
			packages{{ImportPath: semel + "/gateway", Imports: []string{semel + "/check"}, Deps: []string{semel + "/check", "github.com/jackc/pgx/v5/pgconn"}}},
			[]string{semel + "/gateway: reaches github.com/jackc/pgx/v5/pgconn: doors link no driver of a database; recognize its errors with dialect.Refused"},
		},
		"a test imports the command": {
			packages{{ImportPath: semel + "/gateway", XTestImports: []string{semel + "/cmd/semel"}}},
			[]string{semel + "/gateway: imports " + semel + "/cmd/semel: nothing imports cmd/semel"},
		},
		"the integration tests are imported": {
			packages{{ImportPath: semel + "/cmd/semel", Imports: []string{semel + "/proof/integration"}}},
			[]string{semel + "/cmd/semel: imports " + semel + "/proof/integration: nothing imports proof/integration"},
		},
		"the root reaches beyond the standard library": {
			packages{{ImportPath: semel, Deps: []string{"fmt", "example.com/other", semel + "/ids"}}},
			[]string{
				semel + ": reaches example.com/other: this room knows the standard library only",
				semel + ": reaches " + semel + "/ids: this room knows the standard library only",
			},
		},
		"the ground reaches beyond the standard library": {
			packages{{ImportPath: semel + "/internal/must", Deps: []string{"fmt", "example.com/other"}}},
			[]string{semel + "/internal/must: reaches example.com/other: this room knows the standard library only"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantViolations(t, archtest.CheckFloors(archtest.Rooms(), test.packages), test.want...)
		})
	}
}

// TestFloorsCatchATreeOnDisk goes the whole way through go list, with a package that imports one that is not there.
func TestFloorsCatchATreeOnDisk(t *testing.T) {
	t.Parallel()
	const semel = archtest.Module
	dir := t.TempDir()
	err := os.CopyFS(dir, fstest.MapFS{
		"go.mod":                     {Data: []byte("module " + semel + "\n\ngo 1.26.0\n")},
		"semel.go":                   {Data: []byte("package semel\n\nimport _ \"context\"\n")},
		"store/memstore/memstore.go": {Data: []byte("package memstore\n\nimport _ \"" + semel + "/semelhttp\"\n")},
		"semelhttp/semelhttp.go":     {Data: []byte("package semelhttp\n\nimport _ \"" + semel + "/nowhere\"\n")},
		"semelhttp/door_test.go": {Data: []byte("package semelhttp_test\n\nimport _ \"" +
			semel + "/store/memstore\"\n")},
		"gateway/gateway.go": {Data: []byte("package gateway\n\nimport _ \"" + semel + "/store/memstore\"\n")},
	})
	noError(t, err)
	packages, err := archtest.ListPackages(t.Context(), dir)
	noError(t, err)
	wantViolations(
		t, archtest.CheckFloors(archtest.Rooms(), packages),
		semel+"/gateway: reaches "+semel+"/store/memstore: doors know semel.Store only; open the store in internal/cli/openstore",
		semel+"/store/memstore: imports "+semel+"/semelhttp: stores do not know who calls them",
	)
}

func TestEmptyRoomIsFound(t *testing.T) {
	t.Parallel()
	rooms := []archtest.Room{{Path: ".", Kind: archtest.Root}, {Path: "attic", Floor: 1}, {Path: "check", Floor: 2}}
	got := archtest.CheckRooms(rooms, []archtest.Package{{ImportPath: archtest.Module}, {ImportPath: archtest.Module + "/check/wire"}})
	wantViolations(t, got, "attic: no package is in this room: remove it from Rooms in proof/archtest/floors.go")
}
