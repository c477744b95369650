#!/usr/bin/env bash
# The store has no room for another record.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
redis 7000
application
gateway --store "redis://127.0.0.1:7000"
order 8e03978e 12.50

note "Something else fills the Redis server that the gateway keeps its records in."
redis-cli -p 7000 config set maxmemory 1mb >/dev/null
order 51aa02c4 30.00
count

note "Nothing is executed without a claim: customers are refused, and orders that are done still have their answers."
order 8e03978e 12.50

note "The alert SemelStoreUnavailable fires. What does the gateway say?"
enter "curl -s http://127.0.0.1:8081/metrics | grep '^semel_requests_total.*unavailable'"
enter "grep -o \"(the server's memory[^)]*)\" gateway.log"

note "The server needs more memory, or the other data a server of its own. Evicting records would forget orders."
enter "redis-cli -p 7000 config set maxmemory 256mb"
order 51aa02c4 30.00
count
