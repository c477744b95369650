#!/usr/bin/env bash
# The store is damaged, and last night's backup takes its place.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
application
gateway --store sqlite:semel.db
order 8e03978e 12.50
note "At night the store is copied, while the gateway works."
enter "sqlite3 semel.db '.backup backup.db'"
order 51aa02c4 30.00

note "The disk fails in the morning. The backup is a day behind: it has the first order, and not the second."
stop gateway KILL
rm semel.db*
mv backup.db semel.db

note "What was executed since the backup? The shipped log has the digests; the second is not in the backup. It must not be executed again, so it is cancelled before customers come back. A log has no names, which are secrets of callers: the client that sent it knows its own."
enter "jq -r 'select(.outcome == \"executed\").key' gateway.log"
scope=$(semel records list --json | jq -r .scope)
enter "semel records cancel --scope '$scope' --name 51aa02c4 --reason 'executed after the backup, see the log'"
gateway --store sqlite:semel.db
order 8e03978e 12.50
order 51aa02c4 30.00
count
