# The folder for downloads and builds, outside the checkout so that every clone shares it, and
# the locks that let two runs start at once.

# A build from source takes three minutes on two cores; a lock held much longer belongs to a dead run.
lock_patience=1200

cache_folder() {
  if [ -n "${EVERTHREAD_CACHE:-}" ]; then
    printf '%s' "$EVERTHREAD_CACHE"
  elif [ -n "${XDG_CACHE_HOME:-}" ]; then
    printf '%s/everthread' "$XDG_CACHE_HOME"
  elif [ -n "${HOME:-}" ]; then
    printf '%s/.cache/everthread' "$HOME"
  else
    fail 'neither HOME nor EVERTHREAD_CACHE is set: set EVERTHREAD_CACHE to a folder for the downloaded servers.'
  fi
}

make_cache_folder() {
  mkdir -p "$cache" 2>/dev/null && [ -w "$cache" ] ||
    fail "the cache folder $cache cannot be written: set EVERTHREAD_CACHE to a folder that can."
}

# acquire_lock FILE WHAT [SECONDS]: waits for another holder; messages say that it does WHAT. A lock is a symbolic
# link whose target names its holder: made atomically, readable by all.
acquire_lock() {
  local lock=$1 what=$2 patience=${3:-$lock_patience} began=$SECONDS told='' holder
  until ln -s "$(uname -n):$$" "$lock" 2>/dev/null; do
    holder=$(readlink "$lock" 2>/dev/null || true)
    if [ -z "$holder" ]; then
      [ -w "$(dirname "$lock")" ] || fail "the lock $lock cannot be made: its folder cannot be written."
    elif holder_is_dead "$holder"; then
      # Moved, not removed: of two runs that see the dead holder one wins. The worst result of a lost race
      # is a second download, because an installation is renamed into place.
      mv "$lock" "$lock.dead.$$" 2>/dev/null && rm -f "$lock.dead.$$" || true
      continue
    fi
    [ $((SECONDS - began)) -lt "$patience" ] ||
      fail "another run ($holder) $what: stop it, or remove $lock if it is gone."
    [ -n "$told" ] || say "another run ($holder) $what; waiting for it"
    told=yes
    sleep 0.2
  done
  held_locks="$held_locks$lock
"
}

release_lock() {
  rm -f "$1"
  held_locks=$(printf '%s' "$held_locks" | grep -vxF "$1" || true)
  [ -z "$held_locks" ] || held_locks="$held_locks
"
}

# Only for a process of this machine can the script check that it has ended.
holder_is_dead() {
  [ "${1%:*}" = "$(uname -n)" ] && ! kill -0 "${1##*:}" 2>/dev/null
}

# make_install_folder NAME: makes a folder beside its final place, so that a rename puts the result there. The
# caller holds the lock of NAME, so other folders of that name were left by a killed run.
make_install_folder() {
  rm -rf "$cache/partial-$1".*
  make_temporary_folder "$cache/partial-$1"
}

# download WHAT URL FILE NAME CHECKSUMS: an official download, kept only if it is the file published as NAME: by the pinned
# checksum, else by the list at the URL CHECKSUMS. Connecting takes at most five seconds and a stalled connection ends,
# so that a closed network costs seconds.
download() {
  local what=$1 url=$2 file=$3 name=$4 checksums=$5 expected got
  fetch "$what" "$url" "$file" || return 1
  expected=$(checksum_in "$scripts/checksums.txt" "$name")
  if [ -z "$expected" ] && curl -fsSL --connect-timeout 5 --max-time 60 -o "$file.sums" "$checksums" 2>/dev/null; then
    expected=$(checksum_in "$file.sums" "$name")
  fi
  got=$(sha256_of "$file")
  [ -z "$expected" ] || [ "$got" != "$expected" ] || return 0
  say "$what: the download is thrown away: expected ${expected:-a published checksum} for $name, got ${got:-no checksum tool}"
  rm -f "$file"
  return 1
}

# checksum_in FILE NAME: prints the checksum of NAME in a list of sha256sum or in a release of GitHub's API, or nothing.
checksum_in() {
  awk -v name="$2" '
    $2 == name || $2 == "*" name || $2 == "./" name { print tolower($1); exit }
    $1 == "\"name\":" { asset = $2; gsub(/[",]/, "", asset) }
    $1 == "\"digest\":" && asset == name { gsub(/"|,|sha256:/, "", $2); print tolower($2); exit }
  ' "$1"
}

sha256_of() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  fi
}

# apt_install WHAT PACKAGE VARIABLE: Debian's package, if need be after fetching the list of packages; its log is install.log in the
# temporary folder. VARIABLE is the one that a user can set instead.
apt_install() {
  # Of two at a time the second one fails.
  acquire_lock "$cache/apt.lock" "installs a package of Debian's"
  say "$1: installing Debian's package"
  if ! try_apt "$1" "$2"; then
    run_with_progress "$1: fetching the list of packages" "$temporary_folder/update.log" apt-get update -q || true
    try_apt "$1" "$2" || fail_apt "$@"
  fi
  release_lock "$cache/apt.lock"
}

fail_apt() {
  show_log_end "$temporary_folder/install.log"
  fail "no $1: apt-get could not install it, as shown; check the network (or /etc/apt), or set $3."
}

try_apt() {
  run_with_progress "$1: installing" "$temporary_folder/install.log" \
    env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$2"
}

fetch() {
  local what=$1 url=$2 file=$3 log="$3.log"
  if ! command -v curl >/dev/null 2>&1; then
    say "$what: no official download, because there is no curl"
    return 1
  fi
  say "$what: trying the official download"
  if ! run_with_progress "$what: downloading" "$log" \
    curl -fsSL --connect-timeout 5 --speed-limit 10000 --speed-time 15 --max-time 900 -o "$file" "$url"; then
    say "$what: no official download ($(tail -n 1 "$log"))"
    return 1
  fi
}
