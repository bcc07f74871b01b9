# Reports what is installed where, what is missing, and what to do.

doctor_problems=0

doctor() {
  report_tool npm "$(command -v npm)" 'install Node 20 or later (https://nodejs.org)'
  if packages_fresh; then
    report ok Node "$(node_modules/.bin/node --version) from the package node; the machine has $(node --version 2>/dev/null || echo none)"
  else
    report will Node 'npm packages are missing or old: the next command runs npm ci'
  fi
  doctor_temporal_cli
  doctor_temporal_server
  doctor_test_server
  doctor_postgres
  doctor_s3_server
  doctor_python
  doctor_chromium
  doctor_cache
  doctor_server
  [ "$doctor_problems" -eq 0 ] || fail "$doctor_problems of the above must be put right."
  say 'everything is here or will be installed by the next command.'
}

# report ok|will|MISSING NAME TEXT
report() {
  printf '%-8s %-28s %s\n' "$1" "$2" "$3"
  [ "$1" != MISSING ] || doctor_problems=$((doctor_problems + 1))
}

report_tool() {
  if [ -n "$2" ]; then
    report ok "$1" "$2"
  else
    report MISSING "$1" "$3"
  fi
}

doctor_temporal_cli() {
  local name='Temporal CLI' problem
  # In a subshell, because a wrong TEMPORAL_CLI_PATH ends it, with the sentence for the report.
  if problem=$( (find_temporal_cli) 2>&1); then
    find_temporal_cli
    report ok "$name" "$temporal_cli ($temporal_cli_source; $("$temporal_cli" --version))"
  elif [ -n "$problem" ]; then
    report MISSING "$name" "${problem#temporal-dev: }"
  elif command -v go >/dev/null 2>&1; then
    report will "$name" "the next command downloads it, or builds it with $(command -v go) (two to five minutes)"
  elif command -v curl >/dev/null 2>&1; then
    report will "$name" 'the next command downloads it; on a closed network install Go or set TEMPORAL_CLI_PATH'
  else
    report MISSING "$name" 'install curl or Go, or set TEMPORAL_CLI_PATH'
  fi
}

doctor_temporal_server() {
  local name='Temporal server' problem
  if problem=$( (find_temporal_server) 2>&1); then
    find_temporal_server
    report ok "$name" "$temporal_server_bin ($temporal_server_source; $("$temporal_server_bin/temporal-server" --version))"
  elif [ -n "$problem" ]; then
    report MISSING "$name" "${problem#temporal-dev: }"
  elif command -v go >/dev/null 2>&1; then
    report will "$name" "the next test run downloads it, or builds it with $(command -v go) (two to five minutes)"
  elif command -v curl >/dev/null 2>&1; then
    report will "$name" 'the next test run downloads it; on a closed network install Go or set TEMPORAL_SERVER_BIN_PATH'
  else
    report MISSING "$name" 'install curl or Go, or set TEMPORAL_SERVER_BIN_PATH'
  fi
}

doctor_test_server() {
  local name='time-skipping test server' problem
  if problem=$( (find_test_server) 2>&1); then
    find_test_server
    report ok "$name" "$test_server ($test_server_source)"
  elif [ -n "$problem" ]; then
    report MISSING "$name" "${problem#temporal-dev: }"
  elif java_works && command -v mvn >/dev/null 2>&1; then
    report will "$name" 'the next test run downloads it, or fetches it with Maven for the Java here (10 s)'
  elif command -v curl >/dev/null 2>&1; then
    report will "$name" 'the next test run downloads it; on a closed network install Java 11 and Maven, or set TEMPORAL_TEST_SERVER_PATH'
  else
    report MISSING "$name" 'install curl, or Java 11 and Maven, or set TEMPORAL_TEST_SERVER_PATH'
  fi
}

doctor_postgres() {
  local name=PostgreSQL problem
  if problem=$( (find_postgres) 2>&1); then
    find_postgres
    report ok "$name" "$postgres_bin ($postgres_source; $("$postgres_bin/postgres" --version))"
  elif [ -n "$problem" ]; then
    report MISSING "$name" "${problem#temporal-dev: }"
  elif command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    report will "$name" "the next test run installs Debian's package"
  else
    report MISSING "$name" 'for tests, install version 13 or later (apt-get install postgresql, brew install postgresql), or set POSTGRES_BIN_PATH'
  fi
}

doctor_s3_server() {
  local name='S3 server for tests' problem
  if problem=$( (find_s3_server) 2>&1); then
    find_s3_server
    report ok "$name" "$s3_server ($s3_server_source)"
  elif [ -n "$problem" ]; then
    report MISSING "$name" "${problem#temporal-dev: }"
  elif command -v go >/dev/null 2>&1; then
    report will "$name" "the next test run downloads it, or builds it with $(command -v go) (one to four minutes)"
  elif command -v curl >/dev/null 2>&1; then
    report will "$name" 'the next test run downloads it; on a closed network install Go or set VERSITYGW_PATH'
  else
    report MISSING "$name" 'install curl or Go, or set VERSITYGW_PATH'
  fi
}

doctor_python() {
  local name='Python packages' problem
  if problem=$( (find_python) 2>&1); then
    find_python
    report ok "$name" "$python ($python_source)"
  elif [ -n "$problem" ]; then
    report MISSING "$name" "${problem#temporal-dev: }"
  elif python3_works; then
    report will "$name" 'the next test run installs them with pip into the cache (20 s)'
  else
    report MISSING "$name" 'install python3, 3.10 or later (on Debian also python3-venv), or set EVERTHREAD_PYTHON; only tests need it'
  fi
}

doctor_chromium() {
  local name=Chromium problem
  if problem=$( (find_chromium) 2>&1); then
    find_chromium
    report ok "$name" "$chromium ($chromium_source)"
  elif [ -n "$problem" ]; then
    report MISSING "$name" "${problem#temporal-dev: }"
  elif command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" -eq 0 ]; then
    report will "$name" "the next test run installs Debian's package"
  else
    report MISSING "$name" 'for tests, install it (apt-get install chromium, brew install --cask chromium), or set CHROMIUM_PATH'
  fi
}

doctor_cache() {
  local folder=$cache
  while [ ! -e "$folder" ]; do
    folder=$(dirname "$folder")
  done
  if [ -d "$folder" ] && [ -w "$folder" ]; then
    report ok cache "$cache"
  else
    report MISSING cache "$cache cannot be written: set EVERTHREAD_CACHE to a folder that can"
  fi
}

doctor_server() {
  local port=${EVERTHREAD_PORT:-}
  if [ -n "${TEMPORAL_ADDRESS:-}" ]; then
    report ok server "TEMPORAL_ADDRESS is set: up and demo use $TEMPORAL_ADDRESS and start none"
  elif [ -n "$port" ] && port_answers "$port"; then
    report MISSING server "port $port of EVERTHREAD_PORT is in use: stop that program, or unset EVERTHREAD_PORT for the first free port"
  else
    report ok server "would listen on port ${port:-$(first_free_port 7233)}"
  fi
}
