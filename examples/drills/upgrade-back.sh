#!/usr/bin/env bash
# A new version has changed the store, and the old one must come back.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
application
gateway --store sqlite:semel.db
order 8e03978e 12.50

note "Before the upgrade the store is copied."
enter "sqlite3 semel.db '.backup before-upgrade.db'"

note "The new version serves, and brings a new schema (which this drill makes by hand: so far there is one)."
order 51aa02c4 30.00
stop gateway
sqlite3 semel.db 'PRAGMA user_version = 2'

note "It has a fault, so the old version is started again. It does not touch what it does not know:"
enter "semel gateway --upstream http://127.0.0.1:9000 --store sqlite:semel.db"

note "There are two ways. To go forward, a fixed version opens the store, and nothing is lost. To go back, the copy takes its place. The log says what was executed; the second order is not in the copy, so it is cancelled before it can be sent again:"
enter "mv before-upgrade.db semel.db && rm -f semel.db-wal semel.db-shm"
enter "jq -r 'select(.outcome == \"executed\").key' gateway.log"
scope=$(semel records list --json | jq -r .scope)
enter "semel records cancel --scope '$scope' --name 51aa02c4 --reason 'executed by the version that went'"
gateway --store sqlite:semel.db
order 8e03978e 12.50
order 51aa02c4 30.00
count
