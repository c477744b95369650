#!/usr/bin/env bash
# A rule was deployed that takes two orders for one.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
cat >semel.yaml <<'YAML'
version: 1
routes:
  - name: orders
    match: {methods: [POST], path: /invoices}
    key: {derive: {fields: [customer_id], window: 10m}}
    scope: {constant: shop}
YAML
application
gateway --rules semel.yaml
buy() { # buy AMOUNT: without a key
  local code
  code=$(curl -s -o answer-plain -D head-plain -w '%{http_code}' -d "customer_id=1&amount=$1" http://127.0.0.1:8080/invoices)
  printf 'customer 1 orders for %s: %s%s\n' "$1" "$code" "$(answered plain)"
}

note "Clients without keys are protected by a rule that derives the key from fields of the form. It was written with one field too few."
buy 12.50
buy 30.00
count

note "The customer has the answer of the first order for the second one, and complains: 30.00 was never ordered. The log says which intents were replayed, and by which rule."
enter "jq -r 'select(.msg == \"decision\") | [.outcome, .route, .key] | @tsv' gateway.log"

note "Two wishes had one key. The rule needs the amount too."
enter "sed -i 's/\[customer_id\]/[customer_id, amount]/' semel.yaml"
stop gateway
gateway --rules semel.yaml
buy 30.00
buy 30.00
count

note "A rule with other fields makes other keys, so what was done under the old ones is forgotten: it is deployed when retries have had time to end. Shortly after, a retry of the first order would be executed again:"
buy 12.50
count
