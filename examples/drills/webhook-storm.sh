#!/usr/bin/env bash
# A provider delivers one event many times at once, and then a backlog of events.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
application --latency 1s
gateway --live-claims 8 --wait 20s
deliver() { # deliver KEY: one delivery in the background; its status goes to a file of its own
  curl -s -o answer-"$1"-"$2" -w '%{http_code}\n' -H "Idempotency-Key: \"$1\"" -d 'customer_id=1&amount=12.50' http://127.0.0.1:8080/invoices >"status-$1-$2" &
}
statuses() { cat status-* | sort | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\1 deliveries were answered \2/'; rm -f status-*; }
delivered() { local pid; for pid in "$@"; do wait "$pid"; done; }

note "The provider had an outage of its own, and sends an event 60 times at once."
pids=()
for i in $(seq 60); do deliver evt-1 "$i"; pids+=($!); done
delivered "${pids[@]}"
statuses
count

note "Then comes the backlog: 30 events at once, where the gateway takes 8. The others hear when to come again, and nothing is queued that could be lost."
pids=()
for i in $(seq 30); do deliver "evt-2-$i" 1; pids+=($!); done
delivered "${pids[@]}"
statuses | sed 's/^[0-9]* deliveries were answered 303/some deliveries were answered 303/; s/^[0-9]* deliveries were answered 503/the others were answered 503/'

note "The provider comes again until each has an answer."
for i in $(seq 30); do
  await "order evt-2-$i 12.50 | grep -q ' 303 '"
done
count
