# The dev server: ports, flags, start, and the environment of its clients.

dev_server_address=''
dev_server_ui=''
dev_server_pid=''
dev_server_log=''

port_answers() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

first_free_port() {
  local port=$1
  while port_answers "$port"; do
    port=$((port + 1))
    [ "$port" -lt 65000 ] || fail "no free port was found from $1 upwards."
  done
  printf '%s' "$port"
}

require_port() {
  case $2 in
    '' | *[!0-9]*) fail "$1 must be a port number, got \"$2\"." ;;
  esac
  [ "$2" -ge 1 ] && [ "$2" -le 65535 ] || fail "$1 must be a port number from 1 to 65535, got \"$2\"."
  ! port_answers "$2" ||
    fail "port $2 is in use by another program: stop that program, or ask for another port with $1 (without it the first free one is taken)."
}

# start_dev_server PORT UI_PORT [ARGUMENTS...]: an empty port means the first free one. Sets
# the variables above.
start_dev_server() {
  local asked_port=$1 asked_ui_port=$2 port ui_port attempts=0
  shift 2
  make_temporary_folder "${TMPDIR:-/tmp}/everthread-server"
  dev_server_log="$temporary_folder/server.log"
  [ -z "$asked_port" ] || require_port '--port or EVERTHREAD_PORT' "$asked_port"
  [ -z "$asked_ui_port" ] || require_port '--ui-port or EVERTHREAD_UI_PORT' "$asked_ui_port"
  while :; do
    port=${asked_port:-$(first_free_port 7233)}
    ui_port=${asked_ui_port:-$(first_free_port $((port + 1000)))}
    # shellcheck disable=SC2046 # one flag a line, none with a space
    start_process "$temporal_cli" server start-dev "--port=$port" "--ui-port=$ui_port" \
      $(grep -v '^#' "$scripts/dev-server-flags.txt") "$@" >"$dev_server_log" 2>&1
    dev_server_pid=$started_pid
    if dev_server_comes_up "$port" "$dev_server_log"; then
      break
    fi
    stop_process "$dev_server_pid"
    attempts=$((attempts + 1))
    # Another run may have taken the free port in between: only then another port is tried.
    if [ "$attempts" -ge 5 ] || ! grep -qiE 'address already in use|port .* in use|bind' "$dev_server_log"; then
      show_log_end "$dev_server_log" 10
      fail 'the dev server did not start, as shown; run ./temporal-dev.sh doctor.'
    fi
  done
  dev_server_address="127.0.0.1:$port"
  dev_server_ui="http://127.0.0.1:$ui_port"
}

# The server prints its address when it is up: a port that answers could be another program's.
dev_server_comes_up() {
  local tries=0
  while [ "$tries" -lt 300 ] && process_runs "$dev_server_pid"; do
    if grep -qE "[Ss]erver: .*:$1$" "$2" && port_answers "$1"; then
      return 0
    fi
    tries=$((tries + 1))
    sleep 0.1
  done
  return 1
}

# A person's settings for production (an API key, TLS, a profile) must not reach a local server.
forget_temporal_environment() {
  unset TEMPORAL_ADDRESS TEMPORAL_NAMESPACE TEMPORAL_API_KEY TEMPORAL_PROFILE TEMPORAL_CODEC_ENDPOINT \
    TEMPORAL_CODEC_AUTH TEMPORAL_TLS ${!TEMPORAL_TLS_*} ${!TEMPORAL_GRPC_META_*}
  make_temporary_folder "${TMPDIR:-/tmp}/everthread-configuration"
  # Not empty: Temporal's library cannot read a file without a profile.
  printf '[profile.default]\n' >"$temporary_folder/temporal.toml"
  export TEMPORAL_CONFIG_FILE="$temporary_folder/temporal.toml"
}
