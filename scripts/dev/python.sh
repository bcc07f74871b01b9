# The Python that runs tools in Python and the tests of the HTTP server: EVERTHREAD_PYTHON, else a virtual
# environment of our cache with the packages of test/python/requirements.txt.

python=''
python_source=''
python_requirements=test/python/requirements.txt

# Looks without installing; 1 when there is none.
find_python() {
  local folder
  folder=$(python_folder)
  if [ -n "${EVERTHREAD_PYTHON:-}" ]; then
    [ -x "$EVERTHREAD_PYTHON" ] ||
      fail "EVERTHREAD_PYTHON names $EVERTHREAD_PYTHON, which cannot be run: correct it or unset it."
    python=$EVERTHREAD_PYTHON python_source=EVERTHREAD_PYTHON
  elif [ -e "$folder/.installed" ] && "$folder/bin/python" -c '' 2>/dev/null; then
    python=$folder/bin/python python_source=cache
  else
    return 1
  fi
}

# Each set of requirements has its own folder, because checkouts of several versions share the cache.
python_folder() {
  local sum
  sum=$(cksum <"$python_requirements")
  printf '%s/python-%s' "$cache" "${sum%% *}"
}

ensure_python() {
  find_python && return
  make_cache_folder
  acquire_lock "$cache/python.lock" 'installs the Python packages'
  find_python || install_python
  release_lock "$cache/python.lock"
}

# Made in its final place, because it holds its own path; one without `.installed` was left by a killed run.
install_python() {
  local folder log
  folder=$(python_folder)
  python3_works ||
    fail 'there is no Python 3.10 or later, which tests of tools in other languages run: install python3, or set EVERTHREAD_PYTHON.'
  rm -rf "$folder"
  make_temporary_folder "${TMPDIR:-/tmp}/everthread-python"
  log="$temporary_folder/python.log"
  if ! run_with_progress 'Python environment' "$log" python3 -m venv "$folder"; then
    show_log_end "$log"
    fail 'no Python environment: python3 -m venv failed, as shown; on Debian install python3-venv, or set EVERTHREAD_PYTHON.'
  fi
  say 'Python: installing its packages'
  if ! run_with_progress 'pip install' "$log" "$folder/bin/python" -m pip install --quiet \
    --disable-pip-version-check --no-input --requirement "$python_requirements"; then
    show_log_end "$log"
    fail 'no Python packages: pip failed, as shown; check the network (or the index of pip.conf), or set EVERTHREAD_PYTHON.'
  fi
  touch "$folder/.installed"
  find_python
  say "Python: installed in $folder"
}

# macOS has a python3 that only offers to install one, so the script runs it.
python3_works() {
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1
}
