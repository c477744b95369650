#!/usr/bin/env bash
# Duplicates are found that an application made for months, before anything protected it.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
cp "$here/../invoices/cleanup/semel.yaml" .
cleanup -history shop.db >/dev/null
export SEMEL_DSN=sqlite:shop.db
note "Customers were added twice, and invoices and payments hang on both. What is the same, and what would be done?"
enter "semel dedupe plan --rules semel.yaml --check invoices.amount_cents"
note "While the application runs: no new ones from now on, then the old ones become one, then the index that makes it last."
enter "semel dedupe guard semel-dedupe.json"
enter "semel dedupe run semel-dedupe.json"
enter "semel dedupe finish semel-dedupe.json"
note "A colleague misses a customer. Where did it go?"
enter "semel dedupe show 5"
note "Two people had one address after all. Their group is taken back."
enter "semel dedupe undo 1 --group 4"
enter "semel dedupe undo 1 --group 4 --drop-index"
enter "semel dedupe status"
