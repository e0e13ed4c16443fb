#!/usr/bin/env bash
# engine.sh start|stop [FOLDER]: a Docker engine of our own. All that it has is in FOLDER
# (build/docker), and it is reached by unix://FOLDER/docker.sock. It changes no network of the
# machine, so that containers have none but the machine's (--network host). Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
folder=$(realpath -m "${2:-build/docker}")
socket=$folder/docker.sock
pid_file=$folder/docker.pid
log=$folder/dockerd.log
start_s=25 stop_s=30

refuse() { echo "engine.sh: $1" >&2; exit 1; }

runs() {  # whether the engine of the pid file runs: by now another program may have its number
  pid=$(cat "$pid_file" 2> /dev/null) && [ -n "$pid" ] \
    && tr '\0' '\n' 2> /dev/null < "/proc/$pid/cmdline" | grep -qxF -- "--pidfile=$pid_file"
}

answers() { docker -H "unix://$socket" version > /dev/null 2>&1; }

answers_or_ended() { answers || ! kill -0 "$1" 2> /dev/null; }

has_ended() { ! runs; }

# It leaves its folder of data mounted on itself, and a network's namespace: none can be removed so.
release() {
  awk -v below="$folder/" 'index($2, below) == 1 { print $2 }' /proc/self/mounts | tac \
    | xargs --no-run-if-empty --delimiter '\n' umount
}

wait_for() {  # SECONDS COMMAND...: until it succeeds
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.1
  done
}

start() {
  command -v dockerd > /dev/null || refuse "dockerd is missing: make deps-docker"
  [ "$(id -u)" = 0 ] || refuse "an engine needs root"
  # A socket's name has at most 107 bytes; the longest is exec/containerd/containerd-debug.sock.
  [ "$(printf %s "$folder" | wc -c)" -le 69 ] || refuse "$folder: the path is too long for sockets; name a shorter FOLDER"
  mkdir -p "$folder"
  exec 9> "$folder/lock"
  flock 9
  if ! runs; then
    rm -f "$pid_file"
    echo "{}" > "$folder/daemon.json"  # not the one of the machine
    setsid dockerd --iptables=false --ip6tables=false --bridge=none --ip-forward=false \
      --ip-masq=false --storage-driver overlay2 --data-root "$folder/data" \
      --exec-root "$folder/exec" "--pidfile=$pid_file" --host "unix://$socket" --group root \
      --config-file "$folder/daemon.json" < /dev/null > "$log" 2>&1 9>&- &
    started=$!
    wait_for "$start_s" answers_or_ended "$!" || { kill "$!"; wait "$!"; }
  fi
  answers || { tail -n 5 "$log" >&2; release; refuse "the engine does not answer: $log"; }
  echo "unix://$socket"
}

stop() {
  if runs; then
    kill "$pid"
    wait_for "$stop_s" has_ended || refuse "process $pid does not end: $log"
  fi
  release
}

case ${1:-} in
  start | stop) "$1" ;;
  *) sed -n 2,4p "$0" >&2; exit 2 ;;
esac
