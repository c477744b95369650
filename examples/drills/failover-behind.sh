#!/usr/bin/env bash
# The Redis server of the store fails, and its replica, which was behind, takes over.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
offset() { redis-cli -p "$1" info replication | sed -n 's/^master_repl_offset://p'; }
follows() { await "redis-cli -p $1 info replication | grep -q master_link_status:up"; }
redis 7000
redis 7001 --replicaof 127.0.0.1 7000
follows 7001
application
gateway --store redis://127.0.0.1:7000
order 8e03978e 12.50
await '[ "$(offset 7000)" = "$(offset 7001)" ]'

note "The replica loses the primary: a switch fails between them. Redis goes on acknowledging writes that no replica has."
redis-cli -p 7001 replicaof 127.0.0.1 1 >/dev/null
order 51aa02c4 30.00

note "The primary's machine dies, and the replica is promoted. It has the first order, not the second: sent again, that is executed again."
redis-cli -p 7000 shutdown nosave 2>/dev/null || true
enter "redis-cli -p 7001 replicaof no one"
stop gateway
gateway --store redis://127.0.0.1:7001
order 8e03978e 12.50
order 51aa02c4 30.00
count

note "Which were executed twice? The gateways' logs say."
enter "jq -r 'select(.outcome == \"executed\").key' gateway.log | sort | uniq -d"

note "From now on what is acknowledged must be on a replica as well."
rm -rf 7000
redis 7000 --replicaof 127.0.0.1 7001
follows 7000
stop gateway
gateway --store 'redis://127.0.0.1:7001?semel_replicas=1'
order 7d11f00a 99.00

note "The switch fails again. Nothing is executed whose claim could be lost."
redis-cli -p 7000 replicaof 127.0.0.1 1 >/dev/null
order c3d4e5f6 45.00
count
