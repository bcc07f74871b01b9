# Programs that are built from source with Go, where no official download can be had.

# The module and build caches take gigabytes: they are removed when everything is installed, and those of a killed run by the
# next build.
go_caches=''

# build_with_go WHAT FOLDER DURATION VARIABLE MODULES PACKAGE...: puts the programs of the packages into FOLDER, or fails. MODULES
# are `path@version` with blanks between them: packages that are built with the same ones have the same dependencies, so that
# the second build of a run compiles only what the first did not. VARIABLE is what names a program of the user's own.
build_with_go() {
  local what=$1 folder=$2 duration=$3 variable=$4 modules=$5
  shift 5
  command -v go >/dev/null 2>&1 ||
    fail "no $what: it cannot be downloaded and there is no Go to build it; install Go, or set $variable."
  make_go_caches
  write_go_module "$folder/module" "$modules"
  say "$what: building from source ($duration, once): $modules"
  if ! run_with_progress "$what: building" "$folder/build.log" env \
    GOMODCACHE="$go_caches/modules" GOCACHE="$go_caches/build" \
    GOFLAGS="$(go env GOFLAGS) -modcacherw" CGO_ENABLED=0 \
    go -C "$folder/module" build -mod=mod -ldflags '-s -w' -o "$folder/" "$@"; then
    show_log_end "$folder/build.log"
    fail "no $what: the build failed as shown; check the network (or GOPROXY), or set $variable."
  fi
}

# A module that requires these and nothing else, so that Go takes the versions that they ask for.
write_go_module() {
  local folder=$1 module
  mkdir "$folder"
  {
    echo 'module everthread/servers'
    # Go raises it to what the modules need; without it they would be asked for what they do not use.
    echo 'go 1.21'
    for module in $2; do
      echo "require ${module%@*} ${module#*@}"
    done
  } >"$folder/go.mod"
}

make_go_caches() {
  local old
  [ -z "$go_caches" ] || return 0
  for old in "$cache/partial-go-$(uname -n)"-*; do
    ! holder_is_dead "$(uname -n):${old##*-}" || rm -rf "$old"
  done
  go_caches="$cache/partial-go-$(uname -n)-$$"
  mkdir "$go_caches"
  temporary_folders="$temporary_folders$go_caches
"
}

remove_go_caches() {
  [ -z "$go_caches" ] || rm -rf "$go_caches"
  go_caches=''
}
