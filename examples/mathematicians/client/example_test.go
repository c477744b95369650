package client_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/semel-dev/semel/examples/mathematicians"
	"github.com/semel-dev/semel/examples/mathematicians/client"
)

func ExampleQueue_Sync() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	server, err := mathematicians.Open(filepath.Join(dir, "server.db"), nil)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	door := httptest.NewServer(server)
	defer door.Close()

	queue, err := client.Open(filepath.Join(dir, "queue.db"), door.URL, nil)
	if err != nil {
		panic(err)
	}
	defer queue.Close()
	ctx := context.Background()
	for range 2 { // added twice, there once
		_, err = queue.Add(ctx, client.Entry{Ref: "emmy", Kind: client.Mathematician, Text: "Emmy Noether"})
		if err != nil {
			panic(err)
		}
	}
	_, err = queue.Add(ctx, client.Entry{Ref: "theorem", Kind: client.Paper, Parent: "emmy", Text: "Invariante Variationsprobleme"})
	if err != nil {
		panic(err)
	}
	counts, err := queue.Sync(ctx)
	fmt.Printf("%+v %v\n", counts, err)
	// Output: {Waiting:0 Done:2 Refused:0} <nil>
}

func ExampleQueue_Add() {
	dir, err := os.MkdirTemp("", "example-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	queue, err := client.Open(filepath.Join(dir, "queue.db"), "http://nobody.example", nil)
	if err != nil {
		panic(err)
	}
	defer queue.Close()
	kept, err := queue.Add(context.Background(), client.Entry{Ref: "emmy", Kind: client.Mathematician, Text: "Emmy Noether"})
	fmt.Println(kept.Ref, kept.State, err)
	all, err := queue.List(context.Background())
	fmt.Println(len(all), err)
	// Output:
	// emmy waiting <nil>
	// 1 <nil>
}
