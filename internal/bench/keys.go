package main

import (
	"strconv"
	"sync/atomic"

	"github.com/semel-dev/semel"
)

// keys mints fresh keys.
type keys struct {
	prefix string
	serial atomic.Int64
}

func (k *keys) next() semel.Key {
	return semel.Key{Scope: "tenant-7 POST /invoices", Name: k.prefix + strconv.FormatInt(k.serial.Add(1), 10)}
}

// invoice is the answer of the handlers; its JSON is about as long as a row.
type invoice struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
}
