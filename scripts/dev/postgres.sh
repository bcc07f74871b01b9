# PostgreSQL's server, which tests start themselves: POSTGRES_BIN_PATH, PATH, the folders of Debian, Red Hat, Homebrew and
# Postgres.app, or Debian's package.

# The first version with pg_xact_status of an xid8 and with dropping a database in use.
postgres_oldest=13
postgres_bin=''
postgres_source=''

# By folder, because `initdb` is in PATH on few machines.
postgres_works() {
  local version
  [ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
  version=$("$1/postgres" --version 2>/dev/null | sed -nE 's/^postgres \(PostgreSQL\) ([0-9]+).*/\1/p')
  [ -n "$version" ] && [ "$version" -ge "$postgres_oldest" ]
}

# Looks without installing; 1 when there is none.
find_postgres() {
  local folder found
  if [ -n "${POSTGRES_BIN_PATH:-}" ]; then
    postgres_works "$POSTGRES_BIN_PATH" ||
      fail "POSTGRES_BIN_PATH names $POSTGRES_BIN_PATH, which has no initdb and postgres of PostgreSQL $postgres_oldest or later: correct it or unset it."
    postgres_bin=$POSTGRES_BIN_PATH postgres_source=POSTGRES_BIN_PATH
    return
  fi
  if found=$(command -v initdb) && postgres_works "$(dirname "$found")"; then
    postgres_bin=$(dirname "$found") postgres_source=PATH
    return
  fi
  # The newest one, by the number in its path.
  while IFS= read -r folder; do
    postgres_works "$folder" || continue
    postgres_bin=$folder postgres_source=machine
    return
  done < <(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin \
    /usr/local/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin 2>/dev/null | sort -rV)
  return 1
}

ensure_postgres() {
  find_postgres && return
  make_cache_folder
  acquire_lock "$cache/postgres.lock" 'installs PostgreSQL'
  find_postgres || install_postgres
  release_lock "$cache/postgres.lock"
}

install_postgres() {
  local what=PostgreSQL
  command -v apt-get >/dev/null 2>&1 ||
    fail "no $what: install version $postgres_oldest or later (macOS: brew install postgresql), or set POSTGRES_BIN_PATH to the folder of its initdb."
  [ "$(id -u)" -eq 0 ] ||
    fail "no $what: run \"sudo apt-get install postgresql\", or set POSTGRES_BIN_PATH to the folder of its initdb."
  make_temporary_folder "${TMPDIR:-/tmp}/everthread-postgres"
  keep_postgres_from_starting
  apt_install "$what" postgresql POSTGRES_BIN_PATH
  find_postgres || fail "no $what: Debian's package is older than version $postgres_oldest: install a newer one, or set POSTGRES_BIN_PATH."
  say "$what: installed in $postgres_bin"
}

# Without this file the package makes and starts a database of its own.
keep_postgres_from_starting() {
  local settings=/etc/postgresql-common/createcluster.conf
  [ ! -e "$settings" ] || return 0
  mkdir -p "$(dirname "$settings")"
  printf 'create_main_cluster = false\n' >"$settings"
}
