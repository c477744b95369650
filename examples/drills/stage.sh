# shellcheck shell=bash disable=SC2034
# What every drill has: a folder of its own, the invoicing application, a gateway in front of it, and a customer. A drill sources
# it. What it prints is a transcript: notes after "#", commands after "$", and their output.
set -euo pipefail
umask 077 # secrets are read by their owner alone
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
cd "$work"
export NO_COLOR=1 SEMEL_LOG_FORMAT=json

finish() {
  exec 2>/dev/null # bash reports each process that it kills
  # A process that is stopped does not hear of its end before it goes on.
  jobs -p | xargs -r kill -KILL 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# note TEXT: what the operator knows or thinks.
note() { printf '\n' && fold -s -w 118 <<<"$*" | sed 's/^/# /; s/ *$//'; }

# enter COMMAND: what the operator types, and its output.
enter() {
  printf '$ %s\n' "$*"
  local code=0
  eval "$*" 2>&1 || code=$?
  [ "$code" = 0 ] || printf '(exit code %d)\n' "$code"
}

# start NAME COMMAND…: runs it until the drill ends, or stop; returns when it serves.
start() {
  local name=$1
  shift
  rm -f "$name.ready"
  "$@" --ready-file "$name.ready" >>"$name.log" 2>&1 &
  declare -g "pid_$name=$!"
  await "[ -s $name.ready ] || ! kill -0 $!"
  [ -s "$name.ready" ] || { echo "$name does not start:" && tail -n 3 "$name.log" && exit 1; }
}

# stop NAME [SIGNAL]: ends it, and waits until it has gone.
stop() {
  local pid="pid_$1"
  kill "-${2:-TERM}" "${!pid}"
  { wait "${!pid}" || true; } 2>/dev/null
}

# await COMMAND: until it succeeds.
await() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    ! eval "$1" >/dev/null 2>&1 || return 0
    sleep 0.05
  done
  echo "this never came true: $1"
  exit 1
}

# redis PORT OPTIONS…: starts a server, under the command that $under has.
under=(env)
redis() {
  "${under[@]}" redis-server --port "$1" --save '' --dir "$work" --appendonly yes --appenddirname "$1" "${@:2}" >"redis-$1.log" 2>&1 &
  await "redis-cli -p $1 ping"
}

application() { start app invoices --listen 127.0.0.1:9000 --db invoices.db --latency 0s "$@"; }
gateway() { start gateway semel gateway --upstream http://127.0.0.1:9000 --listen 127.0.0.1:8080 --admin 127.0.0.1:8081 "$@"; }

# order KEY AMOUNT: a customer orders, and reads the answer.
order() {
  local code
  code=$(curl -s -o "answer-$1" -D "head-$1" -w '%{http_code}' -H "Idempotency-Key: \"$1\"" -d "customer_id=1&amount=$2" "http://127.0.0.1:8080/invoices") || code='no answer'
  printf 'customer 1 orders %s for %s: %s%s\n' "$1" "$2" "$code" "$(answered "$1")"
}

# answered KEY: what the last answer says.
answered() {
  [ ! -f "head-$1" ] || sed -n 's/\r$//; s/^Idempotency-Status: / /Ip; s|^Location: .*/invoices| /invoices|Ip' "head-$1" | tr -d '\n'
  [ ! -f "answer-$1" ] || sed -n 's/.*"type": *"urn:semel:problem:\([a-z-]*\)".*/ \1/p' "answer-$1"
}

# count: how many invoices there are, by the application itself.
count() { printf 'invoices in the application: %s\n' "$(curl -s "http://127.0.0.1:9000/api/counts" | jq .invoices)"; }

# digest STATE: of the record that is in this state.
digest() { semel records list --state "$1" --json | jq -r .digest | head -n 1 | cut -c 1-12; }
