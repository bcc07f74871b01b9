# Every process that may run long is started here, as the leader of its own process group, so that it
# and all its descendants can be ended by that group, and nothing else is ended.

started_pids=''
temporary_folders=''
held_locks=''

# How long a process may take to end after SIGTERM before it is killed, in tenths of a second:
# a dev server needs one second, a worker that waits for a model call would take minutes.
stop_patience=50

# start_process COMMAND...: runs it in the background; its process id is in $started_pid.
start_process() {
  # Job control gives each background job its own group, and keeps Ctrl-C deliverable to it.
  set -m
  "$@" </dev/null &
  started_pid=$!
  set +m
  started_pids="$started_pid $started_pids"
}

process_runs() {
  kill -0 "$1" 2>/dev/null
}

# Waits for a started process, ends its remaining descendants, and returns its exit code.
finish_process() {
  local code=0
  wait "$1" 2>/dev/null || code=$?
  stop_process "$1"
  return "$code"
}

# Runs a command to its end and returns its exit code; a signal to the script interrupts the wait.
run_process() {
  start_process "$@"
  finish_process "$started_pid"
}

# run_with_progress WHAT LOG COMMAND...: as run_process, with output in a log and a line each ten seconds.
run_with_progress() {
  local what=$1 log=$2 began=$SECONDS told=$SECONDS
  shift 2
  start_process "$@" >"$log" 2>&1
  while process_runs "$started_pid"; do
    sleep 0.2
    if [ $((SECONDS - told)) -ge 10 ]; then
      told=$SECONDS
      say "$what: $((SECONDS - began)) s so far"
    fi
  done
  finish_process "$started_pid"
}

# Ends a process group that this script started: with SIGTERM, then with SIGKILL.
stop_process() {
  local pid=$1 tries=0
  # Removed from the list only when gone: while the group has a member, its number cannot be reused.
  if kill -TERM -- "-$pid" 2>/dev/null; then
    while kill -0 -- "-$pid" 2>/dev/null; do
      if [ "$tries" -ge "$stop_patience" ]; then
        kill -KILL -- "-$pid" 2>/dev/null || true
        break
      fi
      tries=$((tries + 1))
      sleep 0.1
    done
  fi
  wait "$pid" 2>/dev/null || true
  started_pids=$(printf '%s' " $started_pids" | sed "s/ $pid / /;s/^ *//")
}

# make_temporary_folder PREFIX: a new folder in $temporary_folder, removed when the script ends.
make_temporary_folder() {
  temporary_folder=$(mktemp -d "$1.XXXXXX")
  temporary_folders="$temporary_folders$temporary_folder
"
}

# Runs at every end of the script, also after Ctrl-C and after a failed command.
clean_up() {
  local code=$? pid folder lock
  trap '' INT TERM HUP
  trap - EXIT
  for pid in $started_pids; do
    stop_process "$pid"
  done
  while IFS= read -r folder; do
    [ -z "$folder" ] || rm -rf "$folder"
  done <<<"$temporary_folders"
  while IFS= read -r lock; do
    [ -z "$lock" ] || rm -f "$lock"
  done <<<"$held_locks"
  exit "$code"
}

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP
