# The Temporal server and its SQL tool, with which benches and chaos runs start a server on PostgreSQL:
# TEMPORAL_SERVER_BIN_PATH, PATH, our cache, the official download, a build from source.

# The same version as in the Temporal CLI of temporal-cli.sh, so that measurements on both compare.
temporal_server_version=1.29.1
# The CLI holds the server: both are built with the same dependencies.
temporal_modules="github.com/temporalio/cli@v$temporal_cli_version go.temporal.io/server@v$temporal_server_version"
temporal_server_bin=''
temporal_server_source=''

# The newest server that the Go of these machines can build; the newest CLI that `go` can build holds an older one.
newest_temporal_server_version=1.32.1

# From here on the newest server is looked for and installed.
ask_for_newest_temporal_server() {
  temporal_server_version=$newest_temporal_server_version
  temporal_modules="go.temporal.io/server@v$temporal_server_version"
}

# By folder, because the tool makes the tables of its own version: server and tool belong together.
temporal_server_works() {
  [ -x "$1/temporal-server" ] && [ -x "$1/temporal-sql-tool" ] &&
    "$1/temporal-server" --version </dev/null 2>/dev/null | grep -E '^temporal version 1\.(29|[3-9][0-9])\.' >/dev/null &&
    "$1/temporal-sql-tool" --help </dev/null 2>/dev/null | grep 'update-schema' >/dev/null
}

# Looks without installing; 1 when there is none.
find_temporal_server() {
  local found cached="$cache/temporal-server-$temporal_server_version"
  if [ -n "${TEMPORAL_SERVER_BIN_PATH:-}" ]; then
    temporal_server_works "$TEMPORAL_SERVER_BIN_PATH" ||
      fail "TEMPORAL_SERVER_BIN_PATH names $TEMPORAL_SERVER_BIN_PATH, which has no temporal-server and temporal-sql-tool of version 1.29 or later: correct it or unset it."
    temporal_server_bin=$TEMPORAL_SERVER_BIN_PATH temporal_server_source=TEMPORAL_SERVER_BIN_PATH
  elif found=$(command -v temporal-server) && temporal_server_works "$(dirname "$found")"; then
    temporal_server_bin=$(dirname "$found") temporal_server_source=PATH
  elif temporal_server_works "$cached"; then
    temporal_server_bin=$cached temporal_server_source=cache
  else
    return 1
  fi
}

ensure_temporal_server() {
  find_temporal_server && return
  make_cache_folder
  acquire_lock "$cache/temporal-server.lock" 'installs the Temporal server'
  find_temporal_server || install_temporal_server
  release_lock "$cache/temporal-server.lock"
}

install_temporal_server() {
  local final="$cache/temporal-server-$temporal_server_version"
  make_install_folder temporal-server
  download_temporal_server "$temporary_folder" || build_temporal_server "$temporary_folder"
  rm -rf "$final"
  mkdir "$final"
  mv "$temporary_folder/temporal-server" "$temporary_folder/temporal-sql-tool" "$final"
  rm -rf "$temporary_folder"
  find_temporal_server || fail "the Temporal server in $final does not run: remove that folder and try again."
  say "Temporal server: installed in $final"
}

download_temporal_server() {
  local folder=$1 platform name
  platform=$(download_platform linux darwin) || return 1
  name="temporal_${temporal_server_version}_$platform.tar.gz"
  download 'Temporal server' \
    "https://github.com/temporalio/temporal/releases/download/v$temporal_server_version/$name" \
    "$folder/archive.tar.gz" "$name" \
    "https://github.com/temporalio/temporal/releases/download/v$temporal_server_version/checksums.txt" || return 1
  if ! tar -xzf "$folder/archive.tar.gz" -C "$folder" temporal-server temporal-sql-tool ||
    ! temporal_server_works "$folder"; then
    say 'Temporal server: what was downloaded does not run'
    rm -f "$folder/temporal-server" "$folder/temporal-sql-tool"
    return 1
  fi
}

# Go names programs by their folders.
build_temporal_server() {
  local folder=$1
  build_with_go 'Temporal server' "$folder" 'up to five minutes' TEMPORAL_SERVER_BIN_PATH "$temporal_modules" \
    go.temporal.io/server/cmd/server go.temporal.io/server/cmd/tools/sql
  mv "$folder/server" "$folder/temporal-server"
  mv "$folder/sql" "$folder/temporal-sql-tool"
}
