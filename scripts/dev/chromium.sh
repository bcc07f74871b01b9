# Chromium, in which tests look at the page: CHROMIUM_PATH, PATH, the places of other systems, or Debian's package.

chromium=''
chromium_source=''

chromium_works() {
  "$1" --version 2>/dev/null | grep -qE 'Chrom(e|ium)'
}

# Looks without installing; 1 when there is none.
find_chromium() {
  local name found
  if [ -n "${CHROMIUM_PATH:-}" ]; then
    chromium_works "$CHROMIUM_PATH" ||
      fail "CHROMIUM_PATH names $CHROMIUM_PATH, which is no Chromium that runs: correct it or unset it."
    chromium=$CHROMIUM_PATH chromium_source=CHROMIUM_PATH
    return
  fi
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    found=$(command -v "$name") && chromium_works "$found" || continue
    chromium=$found chromium_source=PATH
    return
  done
  # A browser of the machine, or one that playwright has downloaded; the newest one.
  while IFS= read -r found; do
    chromium_works "$found" || continue
    chromium=$found chromium_source=machine
    return
  done < <(ls -d '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' /Applications/Chromium.app/Contents/MacOS/Chromium \
    "${HOME:-}"/.cache/ms-playwright/chromium-*/chrome-linux*/chrome 2>/dev/null | sort -rV)
  return 1
}

ensure_chromium() {
  find_chromium && return
  make_cache_folder
  acquire_lock "$cache/chromium.lock" 'installs Chromium'
  find_chromium || install_chromium
  release_lock "$cache/chromium.lock"
}

install_chromium() {
  local what=Chromium
  command -v apt-get >/dev/null 2>&1 ||
    fail "no $what: install it (macOS: brew install --cask chromium), or set CHROMIUM_PATH to a Chromium or Chrome."
  [ "$(id -u)" -eq 0 ] ||
    fail "no $what: run \"sudo apt-get install chromium\", or set CHROMIUM_PATH to a Chromium or Chrome."
  make_temporary_folder "${TMPDIR:-/tmp}/everthread-chromium"
  apt_install "$what" chromium CHROMIUM_PATH
  find_chromium || fail "no $what: Debian's package does not run; set CHROMIUM_PATH to another one."
  say "$what: installed as $chromium"
}
