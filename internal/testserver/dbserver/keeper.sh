#!/bin/sh
# Waits until the process that opened the home ($1) has gone or closed it, then ends its servers and removes it.
# A server's file `running` holds its process and the signal that ends it at once.
cat >/dev/null

alive() { # a process that has ended and was not waited for yet has no executable
  kill -0 "$1" 2>/dev/null && { [ ! -d /proc/self ] || [ -e "/proc/$1/exe" ]; }
}

# end_all HOME [SIGNAL] sends every server that lives its signal, or this one; it succeeds when none lives.
end_all() {
  for file in "$1"/*/running; do
    if [ -f "$file" ] && read -r process signal <"$file" && alive "$process"; then
      kill "-${2:-$signal}" "$process" 2>/dev/null
      set -- "$1" "${2:-}" lives
    fi
  done
  [ $# -lt 3 ]
}

tries=0 force=
until end_all "$1" "$force"; do
  tries=$((tries + 1))
  [ "$tries" -lt 40 ] || force=KILL
  [ "$tries" -lt 50 ] || break
  sleep 0.1
done
rm -rf "$1"
