#!/usr/bin/env bash
# The gateway dies while an order is under way. It may or may not have been made.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
application --latency 2s
gateway --lease 2s
note "A customer orders. The gateway's machine dies before the answer comes; the application goes on."
order 8e03978e 12.50 &
buying=$!
await '[ -n "$(digest claimed)" ]'
stop gateway KILL
wait "$buying"
gateway --lease 2s
await '[ -n "$(digest unknown)" ]'

note "The customer tries again, and is refused, because it may have happened."
order 8e03978e 12.50

note "The alert SemelUnknownOutcome fires. What is open?"
enter "semel records list --state unknown"
enter "semel records show $(digest unknown)"

note "The application is asked. It has the invoice, so the customer gets it."
count
enter "semel records resolve $(digest unknown) --fence 1 --as completed --status 303 --location /invoices/1 --body-file /dev/null --reason 'invoice 1 is there'"
order 8e03978e 12.50
enter "semel records audit"
