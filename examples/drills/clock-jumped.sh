#!/usr/bin/env bash
# The clock of the store's server jumps ahead, and back.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
jump() { echo "$1" >next && mv next clock; }
jump +0
library=$(ls /usr/lib/*/faketime/libfaketimeMT.so.1)
under=(env "LD_PRELOAD=$library libc.so.6" "FAKETIME_TIMESTAMP_FILE=$work/clock" FAKETIME_NO_CACHE=1 FAKETIME_DISABLE_SHM=1
  FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1)
redis 7000
application --latency 1s
gateway --store redis://127.0.0.1:7000 --lease 10s
export SEMEL_STORE=redis://127.0.0.1:7000
order 8e03978e 12.50

note "Time comes from the store's server alone, whatever the clocks of gateways say. While an order is under way, that clock jumps an hour ahead."
order 51aa02c4 30.00 &
buying=$!
await '[ -n "$(digest claimed)" ]'
jump +3600
wait "$buying"

note "The order's lease seemed to end. Its holder noticed, and still settled it because no other gateway had taken it over. Both orders are there once, however often they are sent again."
order 51aa02c4 30.00
order 8e03978e 12.50
count

note "The clock goes back. Nothing is forgotten or executed again."
jump +0
order 51aa02c4 30.00
order 8e03978e 12.50
count

note "A jump that is longer than the retention, a day here, is as if the day had passed: what was done is forgotten, by the store at once and by a gateway when it is restarted."
jump +172800
stop gateway
gateway --store redis://127.0.0.1:7000
order 8e03978e 12.50
count

note "So let the time service slew clocks, not step them, and alert on the offset of the store's server (node_timex_offset_seconds)."
