#!/usr/bin/env bash
# A message fails whenever it is delivered.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
echo tea >customers
cat >deliveries <<'JSON'
{"id": "order-17", "body": "tea"}
{"id": "order-18", "body": "cake"}
{"id": "order-19", "body": "tea"}
{"id": "order-17", "body": "tea"}
JSON
note "The consumer bills orders. It has never heard of the customer of the second one; the fourth line is a delivery that came again."
consumer <deliveries >billed &
await '[ "$(wc -l <billed)" -ge 6 ]'
enter "cat billed"

note "The message is in quarantine after three attempts, and holds up no other. Why?"
enter "semel inbox quarantine list --consumer billing --json | jq '{id, reason, attempts, error}'"

note "The customer was missing. It is there now, so the message is handled after all."
enter "echo cake >> customers"
held=$(semel inbox quarantine list --consumer billing --json | jq -r .digest | cut -c 1-12)
enter "semel inbox quarantine release $held --reason 'the customer is there now'"
await '[ "$(wc -l <billed)" -ge 7 ]'
enter "tail -n 1 billed"
enter "semel inbox quarantine list --consumer billing"
enter "semel records audit --json | jq -r '[.act, .as, .reason] | @tsv'"
