#!/usr/bin/env bash
# The disk of the gateway's store is lost, without a backup.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
application
gateway --store sqlite:semel.db
order 8e03978e 12.50
order 51aa02c4 30.00

note "The disk fails: the records are gone, and the gateway starts with an empty store. It has forgotten what was done, so an order that is sent again is executed again."
stop gateway KILL
rm semel.db*
gateway --store sqlite:semel.db
order 8e03978e 12.50
order 7d11f00a 99.00
count

note "The log on stderr was shipped elsewhere, and names each intent by its digest. Which were executed before and after?"
enter "jq -r 'select(.outcome == \"executed\").key' gateway.log | sort | uniq -d"

note "That order is there twice; nothing else is. An operator takes the second invoice back in the application."
