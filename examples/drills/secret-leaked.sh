#!/usr/bin/env bash
# A file with the key that encrypts recorded answers was copied by a stranger.
# shellcheck source=stage.sh
. "$(dirname "$0")/stage.sh"
application
(umask 077 && semel keys new >outcome-keys)
gateway --outcome-keys outcome-keys
order 8e03978e 12.50
note "The backup of the configuration was readable by everybody: the key is known. A new one takes its place in three steps. In the first, every gateway learns to read it."
enter "semel keys new > new-key"
enter "cat outcome-keys new-key > step && mv step outcome-keys"
stop gateway && gateway --outcome-keys outcome-keys
note "In the second, it encrypts."
enter "cat new-key > step && head -n 1 outcome-keys >> step && mv step outcome-keys"
stop gateway && gateway --outcome-keys outcome-keys
order 51aa02c4 30.00
order 8e03978e 12.50
note "Which answers still need the leaked key?"
enter "cut -d ' ' -f 1 new-key"
enter "semel records list --json | jq -r '[.name, .outcome.encrypted_with] | @tsv'"
note "When the last of them has expired, after a day here, the new key stays alone. If it is alone too early, an answer that no key can read is refused, not executed again:"
enter "cp new-key outcome-keys"
stop gateway && gateway --outcome-keys outcome-keys
order 51aa02c4 30.00
order 8e03978e 12.50
count
