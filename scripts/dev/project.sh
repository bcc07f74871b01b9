# Requirements of the checkout itself: a modern Node, the packages, the build.

# vitest 5 and node:sqlite need a Node newer than many machines have; the devDependency `node` brings one.
ensure_packages() {
  command -v npm >/dev/null 2>&1 ||
    fail 'there is no npm: install Node 20 or later (https://nodejs.org), which brings it.'
  if ! packages_fresh; then
    mkdir -p .everthread
    acquire_lock "$PWD/.everthread/packages.lock" 'installs the npm packages'
    packages_fresh || install_packages
    release_lock "$PWD/.everthread/packages.lock"
  fi
  export PATH="$PWD/node_modules/.bin:$PATH"
}

# npm scripts put node_modules/.bin first in PATH, and npm ci must not run on the Node that it removes.
install_packages() {
  local outer_path="${PATH//"$PWD/node_modules/.bin:"/}"
  make_temporary_folder "${TMPDIR:-/tmp}/everthread-npm"
  say 'installing the npm packages'
  if ! run_with_progress 'npm ci' "$temporary_folder/npm.log" env PATH="$outer_path" npm ci --no-audit --no-fund --loglevel=error; then
    # npm names the cause first and ends with its manual.
    sed -n '1,6s/^/  | /p' "$temporary_folder/npm.log" >&2
    fail 'npm ci failed, as shown: check the network (or the registry in .npmrc) and try again.'
  fi
  packages_stamp >node_modules/.everthread-stamp
}

packages_stamp() {
  cksum <package-lock.json
}

# npm writes its own lock file last, so one that is newer than ours is a finished `npm install` by hand.
packages_fresh() {
  [ -x node_modules/.bin/node ] || return 1
  [ node_modules/.package-lock.json -nt package-lock.json ] ||
    [ "$(cat node_modules/.everthread-stamp 2>/dev/null)" = "$(packages_stamp)" ]
}

# The generator of the documents and the examples with frameworks have packages of their own, each folder with its lock file.
ensure_locked_packages() {
  mkdir -p .everthread
  acquire_lock "$PWD/.everthread/locked-packages.lock" 'installs the packages of the documents and the examples'
  run_process node scripts/locked-packages.ts site examples/assistant-ui/page examples/next ||
    fail 'npm ci failed in a folder with a lock file of its own, as shown: check the network (or the registry in .npmrc) and try again.'
  release_lock "$PWD/.everthread/locked-packages.lock"
}

ensure_build() {
  mkdir -p .everthread
  acquire_lock "$PWD/.everthread/build.lock" 'builds'
  if ! build_fresh; then
    say 'building'
    run_process npm run --silent build || fail 'the build failed, as shown.'
    touch .everthread/built
  fi
  release_lock "$PWD/.everthread/build.lock"
}

build_fresh() {
  [ -f dist/index.js ] && [ -f .everthread/built ] &&
    [ -z "$(find src scripts/build.ts tsconfig.json tsconfig.build.json package.json package-lock.json -newer .everthread/built | sed 1q)" ]
}
