package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the import path of the root package.
const Module = "github.com/semel-dev/semel"

// Kind names the rules a room obeys in addition to its floor.
type Kind int

const (
	// Plain rooms obey their floor only.
	Plain Kind = iota
	// Root reaches the standard library and [Ground] only.
	Root
	// Ground may be imported from everywhere, and reaches the standard library only.
	Ground
	// Door lets requests in. It speaks to semel.Store and reaches no concrete store, not even through a third package.
	Door
	// Store is a concrete store: it imports no door and no other store.
	Store
	// Top is imported by no other room, not even by tests.
	Top
)

// Room is a package together with its sub-packages, which may import each other freely.
type Room struct {
	// Path is relative to the module; "." is the root package alone.
	Path  string
	Floor int
	Kind  Kind
	// Also lists rooms on the same floor that this one may import. Each entry is a decision, with its reason in a comment.
	Also []string
}

// Rooms returns the floor plan: every package of the module is in one of these rooms, and imports only rooms on lower
// floors. Add a new package here, on the lowest floor that its imports allow.
func Rooms() []Room {
	return slices.Concat([]Room{
		{Path: ".", Floor: 0, Kind: Root},
		// A machine's id for Snowflake ids is leased through a guard.
		{Path: "ids", Floor: 0, Also: []string{"."}},
		// The stores share how a bounded list is put together.
		{Path: "internal/listing", Floor: 0, Also: []string{"."}},
		// What the stores do alike around their SQL and Lua.
		{Path: "store/internal", Floor: 0, Also: []string{"."}},
		{Path: "internal/must", Floor: 0, Kind: Ground},
		{Path: "internal/recent", Floor: 0, Kind: Ground},
		{Path: "internal/outcomecookie", Floor: 0, Kind: Ground},
		// The guard and package operator agree on it.
		{Path: "internal/verdict", Floor: 0, Kind: Ground},
		// What it calls of the guard is not exported.
		{Path: "internal/seize", Floor: 0, Also: []string{"."}},
		// Below the stores, because storetest checks verdicts as well.
		{Path: "operator", Floor: 0, Also: []string{".", "internal/seize"}},
		// The root and the stores run on its transition table.
		{Path: "internal/transition", Floor: 0, Kind: Ground},
		{Path: "proof/archtest", Floor: 0},
		{Path: "internal/ratelimit", Floor: 0},
		{Path: "web", Floor: 0},
		// Notes of records have the texts of databases, without values of rows.
		{Path: "internal/dialect", Floor: 0, Kind: Ground},
		// One enumeration of outcomes for every door, and the guard's traces.
		{Path: "outcomelog", Floor: 0, Kind: Ground},
		// Keeps its events in a database.
		{Path: "outcomelog/archive", Floor: 1},

		{Path: "store/memstore", Floor: 1, Kind: Store},
		{Path: "store/sqlitestore", Floor: 1, Kind: Store},
		{Path: "store/logstore", Floor: 1, Kind: Store},
		{Path: "store/pgstore", Floor: 1, Kind: Store},
		{Path: "store/mysqlstore", Floor: 1, Kind: Store},
		{Path: "store/redisstore", Floor: 1, Kind: Store},
		{Path: "store/groupcommit", Floor: 1},
		// Only the switch from a DSN puts it before a store.
		{Path: "internal/cli/outcomecache", Floor: 1},
		{Path: "store/storetest", Floor: 1},
		{Path: "semelhttp", Floor: 1, Kind: Door},
		{Path: "internal/formguard", Floor: 0, Kind: Ground},
		{Path: "rules", Floor: 1},
		// A conflict in the database is reported in the words of the rules file, and over HTTP as every other problem.
		{Path: "dbguard", Floor: 1, Also: []string{"rules"}},
		// What drivers of several brokers do alike.
		{Path: "internal/keyorder", Floor: 3},
		{Path: "internal/wire", Floor: 1},
		// Only tests import these: they open real databases.
		{Path: "internal/drivertest", Floor: 3},
		{Path: "internal/guardtest", Floor: 2},
		{Path: "internal/locktest", Floor: 2},
		{Path: "internal/claimtest", Floor: 2},
		// A store without a network, for tests of what lies above stores; the race that every store must pass.
		{Path: "internal/memdb", Floor: 1},
		{Path: "internal/storerace", Floor: 0, Also: []string{"."}},
		{Path: "check", Floor: 2},
		{Path: "check/checkcmd", Floor: 4, Also: []string{"internal/cli", "check/internal/gutcheck"}},
		// It writes for the terminal, as verbs do.
		{Path: "check/internal/gutcheck", Floor: 4, Also: []string{"internal/cli"}},

		{Path: "gateway", Floor: 3, Kind: Door},
		// The outcome log is opened as an application's database is, apart from the store's connections.
		{Path: "internal/cli/openstore", Floor: 3, Also: []string{"internal/cli/opendb"}},
		{Path: "internal/cli/opendb", Floor: 3},
		// The checks of pages drive it as well as the verbs.
		{Path: "internal/cli/chromium", Floor: 1},
	}, exampleRooms(), testServers(), schemas(), operators(), operations(), linting(), mechanisms(), topRooms())
}

// testServers are programs that only tests start, and what breaks servers on purpose imports.
func testServers() []Room {
	return []Room{
		{Path: "internal/testserver", Floor: 1},
		// An application that semelhttp protects.
		{Path: "internal/testserver/orders", Floor: 4},
	}
}

// schemas are about the application's own database.
func schemas() []Room {
	return []Room{
		// What it promises, read from its catalogue.
		{Path: "schema/catalog", Floor: 1, Also: []string{"rules", "schema/internal/serversql"}},
		{Path: "schema/internal/serversql", Floor: 1, Also: []string{"rules"}},
		// The rules that its indexes keep, and the merging of rows that break them.
		{Path: "schema", Floor: 2},
		{Path: "schema/schemacmd", Floor: 4, Also: []string{"internal/cli"}},
		{Path: "internal/cli", Floor: 4},
	}
}

// operators let people settle what is unknown.
func operators() []Room {
	return []Room{
		// What operators' doors share: how a record looks, what a verdict means.
		{Path: "internal/cli/operatorview", Floor: 2, Also: []string{"flow"}},
		// The gauges of a gateway and of the console.
		{Path: "gateway/watch", Floor: 2},
		// The views need semelhttp, and the gateway mounts the API: only one floor is between them.
		{Path: "gateway/adminapi", Floor: 2, Kind: Door, Also: []string{"internal/cli/operatorview"}},
		// It logs operators in by the tokens of the API, and shows records as that does.
		{Path: "console", Floor: 2, Kind: Door, Also: []string{"internal/cli/operatorview", "gateway/adminapi", "flow", "inbox", "outbox", "schema"}},
	}
}

func exampleRooms() []Room {
	return []Room{
		// Flags, server and end of the examples' commands; their SQLite files.
		{Path: "examples/internal/program", Floor: 0, Kind: Ground},
		{Path: "examples/internal/sqlite", Floor: 0},
		{Path: "examples/invoices", Floor: 4},
		{Path: "examples/mathematicians", Floor: 4},
		{Path: "examples/shop", Floor: 4},
		{Path: "examples/drills", Floor: 4},
		// The programs of docs/which.md, as tests, and two walks of docs/architecture.md.
		{Path: "examples/which", Floor: 4},
		{Path: "examples/walk", Floor: 4},
	}
}

// operations lists the rooms for more than one call, built on the guard: steps and messages.
func operations() []Room {
	return []Room{
		{Path: "flow", Floor: 2},
		{Path: "inbox", Floor: 2},
		{Path: "outbox", Floor: 2},
		// A Sender publishes the messages of an outbox.
		{Path: "webhook", Floor: 2, Also: []string{"outbox"}},
	}
}

// linting lists the rooms of semel lint. No library imports them: their parsers cannot be linked next to others of
// PostgreSQL's grammar.
func linting() []Room {
	return []Room{
		{Path: "lint/internal/tree", Floor: 0, Kind: Ground},
		{Path: "lint/internal/schema", Floor: 1},
		{Path: "lint/internal/postgres", Floor: 1},
		{Path: "lint/internal/mysql", Floor: 1},
		{Path: "lint/internal/sqlite", Floor: 1},
		{Path: "lint/internal/parse", Floor: 2},
		{Path: "lint/internal/judge", Floor: 2},
		// It runs statements on a copy of the application's database.
		{Path: "lint/internal/rerun", Floor: 3, Also: []string{"internal/cli/opendb"}},
		{Path: "lint", Floor: 3},
		// What Go programs hand to databases, judged by package lint.
		{Path: "lint/internal/gosql", Floor: 3, Also: []string{"lint"}},
		{Path: "lint/internal/gocheck", Floor: 3, Also: []string{"lint", "lint/internal/gosql"}},
		{Path: "lint/vet", Floor: 3, Also: []string{"lint", "lint/internal/gosql", "lint/internal/gocheck"}},
		{Path: "lint/lintcmd", Floor: 4, Also: []string{"internal/cli"}},
		{Path: "lint/cmd/semelvet", Floor: 4, Kind: Top},
	}
}

// mechanisms are the parts of the guard that know nothing of records, and what adapters and doors in nested modules share.
func mechanisms() []Room {
	return []Room{
		{Path: "internal/pgcommit", Floor: 0, Kind: Ground},
		// Doors and gateway leave a key aside that no program wrote.
		{Path: "internal/browserkey", Floor: 0, Kind: Ground},
		// Door and gateway remember what pages of other origins may read.
		{Path: "internal/crossorigin", Floor: 0, Kind: Ground},
		// Door and gateway read values from the same body.
		{Path: "internal/jsonsearch", Floor: 0, Kind: Ground},
		{Path: "internal/formfields", Floor: 0, Kind: Ground},
		{Path: "internal/digest", Floor: 0, Kind: Ground},
		{Path: "internal/envelope", Floor: 0, Kind: Ground},
		// A holder trusts its lease as long as the transition table says.
		{Path: "internal/lease", Floor: 0, Kind: Ground, Also: []string{"internal/transition"}},
		{Path: "internal/mark", Floor: 0, Kind: Ground},
		{Path: "internal/quota", Floor: 0, Kind: Ground},
		{Path: "internal/secretfile", Floor: 0, Kind: Ground},
		{Path: "internal/sfv", Floor: 0, Kind: Ground},
		{Path: "internal/texts", Floor: 0, Kind: Ground},
		// It puts the console and the admin API on a gateway, which knows neither.
		{Path: "console/operators", Floor: 3, Also: []string{"gateway"}},
		// Doors refuse with it, and guards of a database.
		{Path: "internal/refusal", Floor: 0, Kind: Ground},
		{Path: "internal/webhooksig", Floor: 0, Kind: Ground},
		{Path: "internal/waiting", Floor: 0, Kind: Ground},
		{Path: "internal/job", Floor: 1},
		// A server for tests of clients.
		{Path: "internal/pairs", Floor: 2},
		// Doors ask for the caller's right before the same errors.
		{Path: "internal/disclosure", Floor: 0, Also: []string{"."}},
	}
}

// topRooms are above everything: they may import every room and are imported by none.
func topRooms() []Room {
	return []Room{
		{Path: "demo/stage", Floor: 4, Also: []string{"examples/invoices"}},
		{Path: "demo", Floor: 5, Kind: Top},
		{Path: "cmd/semel", Floor: 5, Kind: Top},
		{Path: "proof/bench", Floor: 5, Kind: Top},
		{Path: "proof/prove", Floor: 5, Kind: Top},
		{Path: "proof/mutate", Floor: 5, Kind: Top},
		{Path: "proof/longform", Floor: 5, Kind: Top},
		{Path: "proof/compat", Floor: 5, Kind: Top},
		{Path: "proof/integration", Floor: 5, Kind: Top},
		{Path: "proof/model", Floor: 5, Kind: Top},
	}
}

// CheckFloors returns every package without a room and every import that the floor plan forbids. Tests may
// import whatever they need, except rooms of kind [Top].
func CheckFloors(rooms []Room, packages []Package) []Violation {
	var found []Violation
	for _, p := range packages {
		room, ok := roomOf(rooms, p.ImportPath)
		if !ok {
			found = append(found, Violation{
				Where: p.ImportPath,
				Rule:  "has no floor: add it to Rooms in proof/archtest/floors.go",
			})
			continue
		}
		for _, imported := range p.Imports {
			found = append(found, check(p, rooms, room, imported, broken)...)
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			found = append(found, check(p, rooms, room, imported, brokenByTest)...)
		}
		for _, reached := range p.Deps {
			found = append(found, checkReach(p, rooms, room, reached)...)
		}
	}
	return found
}

// CheckRooms returns every room without a package.
func CheckRooms(rooms []Room, packages []Package) []Violation {
	var found []Violation
	for _, room := range rooms {
		if !slices.ContainsFunc(packages, func(p Package) bool {
			of, ok := roomOf(rooms, p.ImportPath)
			return ok && of.Path == room.Path
		}) {
			found = append(found, Violation{Where: room.Path, Rule: "no package is in this room: remove it from Rooms in proof/archtest/floors.go"})
		}
	}
	return found
}

// check applies one of the two rule functions below to one import.
func check(p Package, rooms []Room, from Room, imported string, rule func(from, to Room) string) []Violation {
	to, ok := roomOf(rooms, imported)
	if !ok || to.Path == from.Path { // another module, an unknown package (which is reported itself), or its own room
		return nil
	}
	if complaint := rule(from, to); complaint != "" {
		return []Violation{{Where: p.ImportPath, Rule: "imports " + imported + ": " + complaint}}
	}
	return nil
}

// broken says which rule an import breaks, or "" when it breaks none.
func broken(from, to Room) string {
	switch {
	case to.Kind == Ground:
		return ""
	case to.Kind == Top:
		return brokenByTest(from, to)
	case from.Kind == Store && to.Kind == Store:
		return "stores do not know each other"
	case from.Kind == Store && to.Kind == Door:
		return "stores do not know who calls them"
	case slices.Contains(from.Also, to.Path):
		return ""
	case to.Floor >= from.Floor:
		return fmt.Sprintf("it is on floor %d, and floor %d may import lower floors only", to.Floor, from.Floor)
	default:
		return ""
	}
}

// brokenByTest is [broken] for the imports of test files.
func brokenByTest(_, to Room) string {
	if to.Kind == Top {
		return "nothing imports " + to.Path
	}
	return ""
}

// checkReach applies the rules that also hold through third packages.
func checkReach(p Package, rooms []Room, from Room, reached string) []Violation {
	to, ours := roomOf(rooms, reached)
	switch {
	case from.Kind == Door && ours && to.Kind == Store:
		return []Violation{{
			Where: p.ImportPath,
			Rule:  "reaches " + reached + ": doors know semel.Store only; open the store in internal/cli/openstore",
		}}
	case from.Kind == Door && isDriver(reached):
		return []Violation{{Where: p.ImportPath, Rule: "reaches " + reached + ": doors link no driver of a database; recognize its errors with dialect.Refused"}}
	case from.Kind != Root && from.Kind != Ground, standard(reached), ours && to.Path == from.Path, ours && to.Kind == Ground:
		return nil
	default:
		return []Violation{{Where: p.ImportPath, Rule: "reaches " + reached + ": this room knows the standard library only"}}
	}
}

// isDriver reports whether a package is the driver of a database.
func isDriver(reached string) bool {
	return slices.ContainsFunc([]string{"github.com/jackc/pgx", "github.com/go-sql-driver/mysql", "github.com/redis/rueidis", "modernc.org/sqlite"}, func(driver string) bool {
		return reached == driver || strings.HasPrefix(reached, driver+"/")
	})
}

// roomOf finds the room of an import path: the longest one that holds it. A package below internal/NAME belongs to the
// public room NAME, unless internal/NAME is a room of its own.
func roomOf(rooms []Room, importPath string) (Room, bool) {
	if importPath == Module {
		importPath += "/."
	}
	path, ours := strings.CutPrefix(importPath, Module+"/")
	if !ours {
		return Room{}, false
	}
	var best Room
	for _, room := range rooms {
		within := path == room.Path || strings.HasPrefix(path, room.Path+"/")
		if within && len(room.Path) > len(best.Path) {
			best = room
		}
	}
	if below, hidden := strings.CutPrefix(path, "internal/"); hidden && best.Path == "" {
		return roomOf(rooms, Module+"/"+below)
	}
	return best, best.Path != ""
}
