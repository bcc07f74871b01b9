# The Temporal CLI, which holds the dev server: TEMPORAL_CLI_PATH, PATH, our cache, the official download,
# a build from source.

# The newest version that `go install` can build; the download has the same one, so that all run the same server.
temporal_cli_version=1.5.1
temporal_cli=''
temporal_cli_source=''

# Checked by the version of the server inside, because a CLI built from source reports 0.0.0; updates and search attributes
# work as Everthread needs them from server 1.24 on.
temporal_cli_works() {
  [ -x "$1" ] && "$1" --version </dev/null 2>/dev/null |
    grep -qE '^temporal version .*\(Server 1\.(2[4-9]|[3-9][0-9]|[1-9][0-9]{2})\.'
}

# Looks without installing; 1 when there is none.
find_temporal_cli() {
  local found cached="$cache/temporal-cli-$temporal_cli_version/temporal"
  if [ -n "${TEMPORAL_CLI_PATH:-}" ]; then
    temporal_cli_works "$TEMPORAL_CLI_PATH" ||
      fail "TEMPORAL_CLI_PATH names $TEMPORAL_CLI_PATH, which does not run as a Temporal CLI with server 1.24 or later: correct it or unset it."
    temporal_cli=$TEMPORAL_CLI_PATH temporal_cli_source=TEMPORAL_CLI_PATH
  elif found=$(command -v temporal) && temporal_cli_works "$found"; then
    temporal_cli=$found temporal_cli_source=PATH
  elif temporal_cli_works "$cached"; then
    temporal_cli=$cached temporal_cli_source=cache
  else
    return 1
  fi
}

ensure_temporal_cli() {
  find_temporal_cli && return
  make_cache_folder
  acquire_lock "$cache/temporal-cli.lock" 'installs the Temporal CLI'
  find_temporal_cli || install_temporal_cli
  release_lock "$cache/temporal-cli.lock"
}

install_temporal_cli() {
  local final="$cache/temporal-cli-$temporal_cli_version"
  make_install_folder temporal-cli
  download_temporal_cli "$temporary_folder" || build_temporal_cli "$temporary_folder"
  rm -rf "$final"
  mkdir "$final"
  mv "$temporary_folder/temporal" "$final/temporal"
  rm -rf "$temporary_folder"
  find_temporal_cli || fail "the Temporal CLI in $final does not run: remove that folder and try again."
  say "Temporal CLI: installed in $final"
}

download_temporal_cli() {
  local folder=$1 platform
  platform=$(download_platform linux darwin) || return 1
  download 'Temporal CLI' \
    "https://temporal.download/cli/archive/v$temporal_cli_version?platform=${platform%_*}&arch=${platform#*_}" \
    "$folder/archive.tar.gz" "temporal_cli_${temporal_cli_version}_$platform.tar.gz" \
    "https://github.com/temporalio/cli/releases/download/v$temporal_cli_version/checksums.txt" || return 1
  if ! tar -xzf "$folder/archive.tar.gz" -C "$folder" temporal || ! temporal_cli_works "$folder/temporal"; then
    say 'Temporal CLI: what was downloaded does not run'
    rm -f "$folder/temporal"
    return 1
  fi
}

build_temporal_cli() {
  build_with_go 'Temporal CLI' "$1" 'two to five minutes' TEMPORAL_CLI_PATH "$temporal_modules" \
    github.com/temporalio/cli/cmd/temporal
}

# download_platform LINUX_NAME MAC_NAME: this machine as <name>_<architecture>; 1 when nothing is published for it.
download_platform() {
  local system architecture
  case $(uname -s) in
    Linux) system=$1 ;;
    Darwin) system=$2 ;;
    *) return 1 ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) architecture=amd64 ;;
    arm64 | aarch64) architecture=arm64 ;;
    *) return 1 ;;
  esac
  printf '%s_%s' "$system" "$architecture"
}
