#!/usr/bin/env bash
# Everything local: the Temporal dev server, a worker, the demo, the tests. Installs what is missing.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")"
scripts="$PWD/scripts/dev"
for part in output processes cache go-build dev-server temporal-cli temporal-server test-server postgres s3 python chromium project doctor; do
  # shellcheck source=/dev/null
  . "$scripts/$part.sh"
done
cache=$(cache_folder)

help() {
  cat <<'END'
./temporal-dev.sh COMMAND

  demo [--crash] [--keep]   a complete conversation on a real server; --crash kills the worker on the
                            way, --keep leaves server and Temporal UI running until Ctrl-C
  test [ARGUMENTS]          every test, or those that the arguments for vitest name
  test --quick              a part, in three to five minutes: `npm run check`, the unit tests, the
                            types, and a few tests of each tier on servers; PostgreSQL, S3, killed workers
                            and other long tiers are covered by `test` only
  test --newest-server [ARGUMENTS]
                            the integration tests on the newest Temporal server that can be had here, once on
                            SQLite and once on PostgreSQL; or on that of TEMPORAL_SERVER_BIN_PATH
  up                        server, demo worker, HTTP server and Temporal UI until Ctrl-C; keeps its data
                            (HTTP on EVERTHREAD_HTTP_PORT, else 8080, else a free one)
  server                    only the server and the Temporal UI until Ctrl-C
  install                   installs what is missing, and ends
  locate                    prints the paths of the Temporal CLI and of the time-skipping test server
  locate temporal-server    prints the folder of temporal-server and temporal-sql-tool
  locate postgres           prints the folder of PostgreSQL's programs
  locate s3                 prints the path of the S3 server for tests
  locate python             prints the path of the Python that has the packages of the tests
  locate chromium           prints the path of the browser in which tests look at the page
  doctor                    reports what is installed where, what is missing, and what to do
  help                      this text

  --port N, --ui-port N     for demo, up and server (or EVERTHREAD_PORT, EVERTHREAD_UI_PORT);
                            without them the first free ports from 7233 and 8233 are taken

  TEMPORAL_ADDRESS           demo and up use this server instead of starting one
  TEMPORAL_CLI_PATH          a Temporal CLI of your own
  TEMPORAL_TEST_SERVER_PATH  a time-skipping test server of your own
  TEMPORAL_SERVER_BIN_PATH   the folder of a temporal-server and temporal-sql-tool of your own, for benches and chaos
  POSTGRES_BIN_PATH          the folder of PostgreSQL's programs, for tests
  VERSITYGW_PATH             a versitygw, the S3 server for tests, of your own
  EVERTHREAD_PYTHON          a Python of your own, with the packages of test/python/requirements.txt
  CHROMIUM_PATH              a Chromium or Chrome of your own, for tests
  EVERTHREAD_CACHE           the folder for downloads, instead of ~/.cache/everthread
END
}

# Removes the ports from the arguments; the rest is in $remaining.
read_options() {
  port=${EVERTHREAD_PORT:-}
  ui_port=${EVERTHREAD_UI_PORT:-}
  crash=''
  keep=''
  while [ "$#" -gt 0 ]; do
    case $1 in
      --port=*) port=${1#*=} ;;
      --ui-port=*) ui_port=${1#*=} ;;
      --port | --ui-port)
        [ "$#" -ge 2 ] || fail "$1 needs a port number after it."
        if [ "$1" = --port ]; then port=$2; else ui_port=$2; fi
        shift
        ;;
      --crash) crash=--crash ;;
      --keep) keep=--keep ;;
      *) fail "\"$1\" is not known here: see ./temporal-dev.sh help." ;;
    esac
    shift
  done
  if [ "$command" != demo ] && [ -n "$crash$keep" ]; then
    fail "$crash$keep is for demo: see ./temporal-dev.sh help."
  fi
}

# connect_server [ARGUMENTS...]: uses the server at TEMPORAL_ADDRESS, or starts one.
connect_server() {
  if [ -n "${TEMPORAL_ADDRESS:-}" ]; then
    say "using the server at $TEMPORAL_ADDRESS (TEMPORAL_ADDRESS is set)"
    return
  fi
  ensure_temporal_cli
  remove_go_caches
  start_dev_server "$port" "$ui_port" "$@"
  forget_temporal_environment
  export TEMPORAL_ADDRESS=$dev_server_address EVERTHREAD_UI_URL=$dev_server_ui TEMPORAL_CLI_PATH=$temporal_cli
  say "server: $TEMPORAL_ADDRESS   Temporal UI: $EVERTHREAD_UI_URL"
}

# wait_for_processes [PROCESS]: waits until Ctrl-C; fails if the server or that process ends by itself.
wait_for_processes() {
  while :; do
    if [ -n "$dev_server_pid" ] && ! process_runs "$dev_server_pid"; then
      show_log_end "$dev_server_log"
      fail 'the server ended by itself; its last words are above.'
    fi
    [ -z "${1:-}" ] || process_runs "$1" || fail 'the worker or the HTTP server ended by itself; its last words are above.'
    sleep 0.5
  done
}

command_demo() {
  local code=0
  read_options "$@"
  ensure_packages
  ensure_build
  connect_server
  make_temporary_folder "${TMPDIR:-/tmp}/everthread-demo"
  export EVERTHREAD_DATABASE_URL="file:$temporary_folder/threads.db"
  export EVERTHREAD_BLOBS_URL="file:$temporary_folder/blobs"
  run_process node examples/demo/run.ts $crash || code=$?
  if [ -n "$keep" ] && [ -n "$dev_server_pid" ] && [ "$code" -eq 0 ]; then
    say 'server and Temporal UI run until Ctrl-C'
    wait_for_processes
  elif [ -n "$dev_server_pid" ] && [ "$code" -eq 0 ]; then
    say 'server and Temporal UI end here; demo --keep leaves them running'
  fi
  return "$code"
}

command_install() {
  ensure_packages
  ensure_locked_packages
  # First what is only downloaded: CI compiles the servers beside it.
  ensure_python
  ensure_chromium
  command_install_servers
}

# The tests of `test --quick`: the unit tests, the types, and of the tests on servers those of the bundle, of activities, of the
# store in SQLite and of kept histories, and one file of each other tier.
quick_tests=(
  src/ scripts/ simulation/ test/types/
  test/bundle/ test/activities/ test/store/sqlite test/replay/kept-
  test/workflow/step-cycle test/client/running-thread test/server/tool-calls test/examples/handoff
)

test_quickly() {
  local code=0
  ensure_packages
  ensure_test_server
  ensure_temporal_cli
  run_process npm run --silent check || fail '`npm run check` failed, as shown; no test was run.'
  forget_temporal_environment
  export TEMPORAL_CLI_PATH=$temporal_cli TEMPORAL_TEST_SERVER_PATH=$test_server
  run_process vitest run --project unit --project types --project servers "${quick_tests[@]}" "$@" || code=$?
  return "$code"
}

# With the server's own program instead of the dev server in the Temporal CLI.
test_on_newest_server() {
  local code=0 database
  [ "$#" -gt 0 ] || set -- test/integration
  ask_for_newest_temporal_server
  command_install
  ensure_build
  export_programs
  say "tests on Temporal server $("$temporal_server_bin/temporal-server" --version)"
  for database in sqlite postgres; do
    say "on $database"
    run_process env "EVERTHREAD_TEST_TEMPORAL=$database" vitest run --project integration "$@" || code=$?
  done
  return "$code"
}

# For vitest: where the installed programs are.
export_programs() {
  forget_temporal_environment
  export TEMPORAL_CLI_PATH=$temporal_cli TEMPORAL_TEST_SERVER_PATH=$test_server POSTGRES_BIN_PATH=$postgres_bin
  export VERSITYGW_PATH=$s3_server EVERTHREAD_PYTHON=$python TEMPORAL_SERVER_BIN_PATH=$temporal_server_bin
  export EVERTHREAD_CHROMIUM=$chromium
}

command_test() {
  local code=0
  if [ "${1:-}" = --quick ]; then
    shift
    test_quickly "$@"
    return
  fi
  if [ "${1:-}" = --newest-server ]; then
    shift
    test_on_newest_server "$@"
    return
  fi
  command_install
  ensure_build
  export_programs
  run_process vitest run "$@" || code=$?
  if [ "$code" -ne 0 ] && [ "$#" -eq 0 ] && [ -s test-results/again ]; then
    code=0
    test_again || code=$?
  fi
  return "$code"
}

# After a whole run with failed tests in a few files: these files once more, alone. Each test that passes only then is named in
# the output (docs/decisions/0100-tests-once-more.md).
test_again() {
  local words=()
  mapfile -t words <test-results/again
  rm test-results/again
  say "once more: ${words[*]}"
  run_process env EVERTHREAD_TEST_AGAIN=1 vitest run "${words[@]}"
}

command_up() {
  read_options "$@"
  ensure_packages
  ensure_build
  # Two servers on one file would corrupt each other's work.
  acquire_lock "$PWD/.everthread/up.lock" 'has `up` running in this checkout' 0
  connect_server "--db-filename=$PWD/.everthread/temporal.db"
  export EVERTHREAD_DATABASE_URL="${EVERTHREAD_DATABASE_URL:-file:$PWD/.everthread/threads.db}"
  export EVERTHREAD_BLOBS_URL="${EVERTHREAD_BLOBS_URL:-file:$PWD/.everthread/blobs}"
  start_process node examples/demo/up.ts
  say 'starting worker and HTTP server; Ctrl-C ends everything'
  wait_for_processes "$started_pid"
}

command_server() {
  read_options "$@"
  unset TEMPORAL_ADDRESS
  connect_server
  say 'Ctrl-C ends it'
  wait_for_processes
}

# Leaves the packages alone: npm runs the bench from them, and CI runs this before it has any.
command_install_servers() {
  ensure_test_server
  ensure_temporal_cli
  ensure_temporal_server
  ensure_postgres
  ensure_s3_server
  remove_go_caches
}

# For the tests, when vitest is run by hand: finds the installed servers and installs none.
command_locate() {
  case ${1:-} in
    '')
      find_temporal_cli && find_test_server || exit 1
      printf '%s\n%s\n' "$temporal_cli" "$test_server"
      ;;
    temporal-server) find_temporal_server && printf '%s\n' "$temporal_server_bin" || exit 1 ;;
    postgres) find_postgres && printf '%s\n' "$postgres_bin" || exit 1 ;;
    s3) find_s3_server && printf '%s\n' "$s3_server" || exit 1 ;;
    python) find_python && printf '%s\n' "$python" || exit 1 ;;
    chromium) find_chromium && printf '%s\n' "$chromium" || exit 1 ;;
    *) fail "locate knows temporal-server, postgres, s3, python and chromium, not \"$1\"." ;;
  esac
}

command=${1:-help}
[ "$#" -eq 0 ] || shift
case $command in
  demo | test | up | server | install | locate) "command_$command" "$@" ;;
  install-servers) command_install_servers ;;
  doctor) doctor ;;
  help | --help | -h) help ;;
  *) fail "there is no command \"$command\": see ./temporal-dev.sh help." ;;
esac
