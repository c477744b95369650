package ids_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/semel-dev/semel"
	"github.com/semel-dev/semel/ids"
	"github.com/semel-dev/semel/store/memstore"
)

func ExampleUUIDs_New() {
	var uuids ids.UUIDs // one for the process
	first, second := uuids.New(), uuids.New()
	fmt.Println(first.Version(), len(first.String()), first.String() < second.String())
	// Output: 7 36 true
}

func ExampleParseUUID() {
	id, err := ids.ParseUUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")
	fmt.Println(id, id.Time().Format(time.DateOnly), err)
	_, err = ids.ParseUUID("017f22e2")
	fmt.Println(errors.Is(err, ids.ErrMalformed))
	// Output:
	// 017f22e2-79b0-7cc3-98c4-dc0c0c07398f 2022-02-22 <nil>
	// true
}

func ExampleULIDs_New() {
	var ulids ids.ULIDs // one for the process
	first, err := ulids.New()
	if err != nil {
		panic(err)
	}
	second, err := ulids.New()
	fmt.Println(len(first.String()), first.String() < second.String(), err)
	// Output: 26 true <nil>
}

func ExampleParseULID() {
	id, err := ids.ParseULID("01arz3ndektsv4rrffq69g5fav")
	fmt.Println(id, id.Time().Format(time.DateOnly), err)
	// Output: 01ARZ3NDEKTSV4RRFFQ69G5FAV 2016-07-30 <nil>
}

func ExampleNewSnowflakes() {
	clock := func() time.Time { return time.Date(2024, 1, 1, 1, 0, 0, 0, time.UTC) } // so that the example has one answer
	snowflakes, err := ids.NewSnowflakes(5, &ids.SnowflakeOptions{Now: clock})
	if err != nil {
		panic(err)
	}
	for range 2 {
		id, err := snowflakes.New(context.Background())
		if err != nil {
			panic(err)
		}
		at, machine, sequence := snowflakes.Parts(id)
		fmt.Println(id, at.Format(time.TimeOnly), machine, sequence)
	}
	// Output:
	// 15099494420480 01:00:00 5 0
	// 15099494420481 01:00:00 5 1
}

func ExampleParseSnowflake() {
	id, err := ids.ParseSnowflake("15099494420481")
	fmt.Println(int64(id), err)
	_, err = ids.ParseSnowflake("0x1")
	fmt.Println(errors.Is(err, ids.ErrMalformed))
	// Output:
	// 15099494420481 <nil>
	// true
}

func ExampleLeaseMachine() {
	store := memstore.New(nil) // a store that all machines share
	defer store.Close()
	guard, err := semel.New(store, nil)
	if err != nil {
		panic(err)
	}
	defer guard.Close()

	ctx := context.Background()
	machine, err := ids.LeaseMachine(ctx, guard, &ids.MachineOptions{Machines: 1})
	if err != nil {
		panic(err)
	}
	snowflakes, err := machine.Snowflakes(nil)
	if err != nil {
		panic(err)
	}
	id, err := snowflakes.New(ctx)
	_, number, _ := snowflakes.Parts(id)
	fmt.Println("an id of machine", number, err)
	_, err = ids.LeaseMachine(ctx, guard, &ids.MachineOptions{Machines: 1})
	fmt.Println("a second machine:", errors.Is(err, ids.ErrNoMachine))

	if err := machine.Close(); err != nil {
		panic(err)
	}
	_, err = snowflakes.New(ctx)
	fmt.Println("after it was given back:", errors.Is(err, ids.ErrMachineLost))
	// Output:
	// an id of machine 0 <nil>
	// a second machine: true
	// after it was given back: true
}

func ExampleBusinessKey() {
	key := ids.BusinessKey{Kind: "INV", Tenant: "acme", Year: 2026, Number: 42}
	fmt.Println(key, key.Validate())
	// Output: INV-acme-2026-000042 <nil>
}

func ExampleCompose() {
	fmt.Println(ids.Compose("a", "b:c"))
	fmt.Println(ids.Compose("a:b", "c"))
	// Output:
	// a:b%3Ac
	// a%3Ab:c
}

func ExampleSplit() {
	parts, err := ids.Split("shop-7:%23 42/2026")
	fmt.Println(parts, errors.Is(err, ids.ErrMalformed)) // a blank is escaped as well
	parts, err = ids.Split(ids.Compose("shop-7", "# 42/2026"))
	fmt.Printf("%q %v\n", parts, err)
	// Output:
	// [] true
	// ["shop-7" "# 42/2026"] <nil>
}

func ExampleDerive() {
	fmt.Println(ids.Derive(nil, "create invoice", "customer 4", "2026-03")[:16])
	fmt.Println(ids.Derive([]byte("a secret of at least 16 bytes"), "create invoice", "customer 4", "2026-03")[:16])
	// Output:
	// 18614b5041126e48
	// 0e33435fbd52443b
}

func ExampleInternal() {
	type customer struct {
		Row  ids.Internal `json:"-"` // without the tag, the next line is an error
		ID   string       `json:"id"`
		Name string       `json:"name"`
	}
	ada := customer{Row: ids.NewInternal(8675309), ID: "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", Name: "Ada"}
	text, err := json.Marshal(ada)
	fmt.Println(string(text), err)
	fmt.Printf("%+v\n", ada)
	_, err = json.Marshal(ada.Row)
	fmt.Println(errors.Is(err, ids.ErrInternal))
	// Output:
	// {"id":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f","name":"Ada"} <nil>
	// {Row:[internal] ID:017f22e2-79b0-7cc3-98c4-dc0c0c07398f Name:Ada}
	// true
}
