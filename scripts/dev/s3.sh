# The S3 server for tests, versitygw, which keeps buckets in a folder: VERSITYGW_PATH, PATH, our cache, the
# official download, a build from source.

versitygw_version=1.8.0
s3_server=''
s3_server_source=''

# Without -q: grep would end at the first of several lines, and the writer would fail the pipe.
s3_server_works() {
  [ -x "$1" ] && "$1" --version </dev/null 2>/dev/null | grep '^Version' >/dev/null
}

# Looks without installing; 1 when there is none.
find_s3_server() {
  local found cached="$cache/versitygw-$versitygw_version/versitygw"
  if [ -n "${VERSITYGW_PATH:-}" ]; then
    s3_server_works "$VERSITYGW_PATH" ||
      fail "VERSITYGW_PATH names $VERSITYGW_PATH, which does not run as versitygw: correct it or unset it."
    s3_server=$VERSITYGW_PATH s3_server_source=VERSITYGW_PATH
  elif found=$(command -v versitygw) && s3_server_works "$found"; then
    s3_server=$found s3_server_source=PATH
  elif s3_server_works "$cached"; then
    s3_server=$cached s3_server_source=cache
  else
    return 1
  fi
}

ensure_s3_server() {
  find_s3_server && return
  make_cache_folder
  acquire_lock "$cache/versitygw.lock" 'installs the S3 server for tests'
  find_s3_server || install_s3_server
  release_lock "$cache/versitygw.lock"
}

install_s3_server() {
  local final="$cache/versitygw-$versitygw_version"
  make_install_folder versitygw
  download_s3_server "$temporary_folder" || build_s3_server "$temporary_folder"
  rm -rf "$final"
  mkdir "$final"
  mv "$temporary_folder/versitygw" "$final/versitygw"
  rm -rf "$temporary_folder"
  find_s3_server || fail "the S3 server in $final does not run: remove that folder and try again."
  say "S3 server: installed in $final"
}

# Its archives are named by `uname`, except for the architecture of 64-bit Intel.
download_s3_server() {
  local folder=$1 platform name
  platform=$(download_platform Linux Darwin) || return 1
  name="versitygw_v${versitygw_version}_${platform/amd64/x86_64}"
  download 'S3 server' \
    "https://github.com/versity/versitygw/releases/download/v$versitygw_version/$name.tar.gz" \
    "$folder/archive.tar.gz" "$name.tar.gz" \
    "https://github.com/versity/versitygw/releases/download/v$versitygw_version/checksums.txt" || return 1
  if ! tar -xzf "$folder/archive.tar.gz" -C "$folder" || ! mv "$folder/$name/versitygw" "$folder/versitygw" ||
    ! s3_server_works "$folder/versitygw"; then
    say 'S3 server: what was downloaded does not run'
    rm -f "$folder/versitygw"
    return 1
  fi
}

build_s3_server() {
  build_with_go 'S3 server for tests' "$1" 'one to four minutes' VERSITYGW_PATH \
    "github.com/versity/versitygw@v$versitygw_version" github.com/versity/versitygw/cmd/versitygw
}
