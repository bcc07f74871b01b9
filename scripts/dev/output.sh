# Messages of the script. Progress and problems go to stderr, so that stdout holds only results.

say() {
  printf 'temporal-dev: %s\n' "$*" >&2
}

# Ends the run with one sentence that says what to do.
fail() {
  say "$*"
  exit 1
}

# Prints the last lines of a log, indented, which show why something failed.
show_log_end() {
  [ ! -s "$1" ] || tail -n "${2:-5}" "$1" | sed 's/^/  | /' >&2
}
