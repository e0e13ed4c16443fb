#!/usr/bin/env bash
# registry.sh start|stop FOLDER [PORT]: a registry of images, Debian's docker-registry, on 127.0.0.1.
# All that it has is in FOLDER. `start` takes a free port if none is named, and prints HOST:PORT.
set -euo pipefail

refuse() { echo "registry.sh: $1" >&2; exit 1; }

runs() {  # whether the registry of the pid file runs: by now another program may have its number
  pid=$(cat "$folder/pid" 2> /dev/null) && [ -n "$pid" ] \
    && tr '\0' '\n' 2> /dev/null < "/proc/$pid/cmdline" | grep -qxF -- "$folder/config.yml"
}

has_ended() { ! runs; }

answers() {  # on the port that the configuration has
  (exec 3<> "/dev/tcp/127.0.0.1/$(cat "$folder/port")") 2> /dev/null
}

wait_for() {  # SECONDS COMMAND...: until it succeeds
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.05
  done
}

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

start() {
  command -v docker-registry > /dev/null || refuse "docker-registry is missing: make deps-registry"
  mkdir -p "$folder/data"
  if ! runs; then
    port=${port:-$(free_port)}
    echo "$port" > "$folder/port"
    cat > "$folder/config.yml" <<EOF
version: 0.1
log: {level: warn, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $folder/data}, delete: {enabled: true}}
http: {addr: 127.0.0.1:$port}
EOF
    setsid docker-registry serve "$folder/config.yml" < /dev/null > "$folder/log" 2>&1 &
    echo $! > "$folder/pid"
    wait_for 20 answers || { tail -n 5 "$folder/log" >&2; refuse "it does not answer"; }
  fi
  echo "127.0.0.1:$(cat "$folder/port")"
}

stop() {
  runs || return 0
  kill "$pid"
  wait_for 20 has_ended || refuse "process $pid does not end: $folder/log"
}

[ $# -ge 2 ] || { sed -n 2,3p "$0" >&2; exit 2; }
folder=$(realpath -m "$2") port=${3:-}
case $1 in
  start | stop) "$1" ;;
  *) sed -n 2,3p "$0" >&2; exit 2 ;;
esac
