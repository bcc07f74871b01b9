# The time-skipping test server: TEMPORAL_TEST_SERVER_PATH, our cache, the official download, Maven
# Central on a JVM. The SDK runs it as `temporal-test-server PORT --enable-time-skipping`.

test_server_version=1.38.0
test_server=''
test_server_source=''

# Looks without installing; 1 when there is none.
find_test_server() {
  local cached="$cache/temporal-test-server-$test_server_version/temporal-test-server"
  if [ -n "${TEMPORAL_TEST_SERVER_PATH:-}" ]; then
    [ -x "$TEMPORAL_TEST_SERVER_PATH" ] ||
      fail "TEMPORAL_TEST_SERVER_PATH names $TEMPORAL_TEST_SERVER_PATH, which cannot be run: correct it or unset it."
    test_server=$TEMPORAL_TEST_SERVER_PATH test_server_source=TEMPORAL_TEST_SERVER_PATH
  elif [ -x "$cached" ]; then
    [ ! -d "$(dirname "$cached")/libs" ] || java_works ||
      fail "the time-skipping test server in $cache runs on Java, which is gone: install Java 11 or later, or set TEMPORAL_TEST_SERVER_PATH."
    test_server=$cached test_server_source=cache
  else
    return 1
  fi
}

ensure_test_server() {
  find_test_server && return
  make_cache_folder
  acquire_lock "$cache/temporal-test-server.lock" 'installs the time-skipping test server'
  find_test_server || install_test_server
  release_lock "$cache/temporal-test-server.lock"
}

install_test_server() {
  local final="$cache/temporal-test-server-$test_server_version"
  make_install_folder temporal-test-server
  mkdir "$temporary_folder/result"
  download_test_server "$temporary_folder" || fetch_test_server_jars "$temporary_folder"
  rm -rf "$final"
  mv "$temporary_folder/result" "$final"
  rm -rf "$temporary_folder"
  find_test_server
  keep_test_server_classes "$final"
  say "time-skipping test server: installed in $final"
}

download_test_server() {
  local folder=$1 platform name
  platform=$(download_platform linux macOS) || return 1
  name="temporal-test-server_${test_server_version}_$platform"
  download 'time-skipping test server' \
    "https://github.com/temporalio/sdk-java/releases/download/v$test_server_version/$name.tar.gz" \
    "$folder/archive.tar.gz" "$name.tar.gz" \
    "https://api.github.com/repos/temporalio/sdk-java/releases/tags/v$test_server_version" || return 1
  if ! tar -xzf "$folder/archive.tar.gz" -C "$folder" || ! mv "$folder/$name/temporal-test-server" "$folder/result/" ||
    ! test_server_answers "$folder/result/temporal-test-server"; then
    say 'time-skipping test server: what was downloaded does not run'
    rm -rf "$folder/result/temporal-test-server"
    return 1
  fi
}

java_command() {
  printf '%s' "${JAVA_HOME:+$JAVA_HOME/bin/}java"
}

# macOS has a `java` that only reports that there is none, so the script runs it.
java_works() {
  "$(java_command)" -version >/dev/null 2>&1
}

# The jars are kept, Maven's own repository of plugins is not.
fetch_test_server_jars() {
  local folder=$1 what='time-skipping test server'
  java_works ||
    fail "no $what: it cannot be downloaded and there is no Java to run it on; install Java 11 or later and Maven, or set TEMPORAL_TEST_SERVER_PATH."
  command -v mvn >/dev/null 2>&1 ||
    fail "no $what: it cannot be downloaded and there is no Maven to fetch it; install Maven, or set TEMPORAL_TEST_SERVER_PATH."
  say "$what: fetching version $test_server_version with Maven"
  write_test_server_pom >"$folder/pom.xml"
  if ! run_with_progress "$what: fetching" "$folder/maven.log" mvn -q -B -C -f "$folder/pom.xml" \
    -Dmaven.repo.local="$folder/repository" \
    -Dmaven.wagon.http.connectionTimeout=5000 -Daether.connector.connectTimeout=5000 \
    -Dmaven.wagon.rto=60000 -Daether.connector.requestTimeout=60000 \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -DoutputDirectory="$folder/result/libs"; then
    show_log_end "$folder/maven.log"
    fail "no $what: Maven could not fetch it, as shown; check the network (or Maven's settings.xml), or set TEMPORAL_TEST_SERVER_PATH."
  fi
  write_test_server_wrapper >"$folder/result/temporal-test-server"
  chmod +x "$folder/result/temporal-test-server"
  test_server_answers "$folder/result/temporal-test-server" ||
    fail "no $what: the fetched one does not start on $(java_command); install Java 11 or later, or set TEMPORAL_TEST_SERVER_PATH."
}

write_test_server_pom() {
  cat <<END
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>everthread</groupId>
  <artifactId>test-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.temporal</groupId>
      <artifactId>temporal-test-server</artifactId>
      <version>$test_server_version</version>
    </dependency>
    <!-- Without one the logging library complains to stderr at every start. -->
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-nop</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
END
}

# Flags for a quick start in little memory: the SDK waits five seconds for the server.
write_test_server_wrapper() {
  cat <<'END'
#!/bin/sh
folder=$(cd "$(dirname "$0")" && pwd)
classes=''
[ ! -f "$folder/classes.jsa" ] || classes=-XX:SharedArchiveFile=$folder/classes.jsa
exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Xmx512m -Xlog:disable \
  ${classes:+"$classes"} -cp "$folder/libs/*" io.temporal.testserver.TestServer "$@"
END
}

# The loaded classes of one start, which make every later one three times as quick. Not for a download, which is no Java, and
# only from Java 13 on; another Java than this one ignores the file.
keep_test_server_classes() {
  local folder=$1
  [ -d "$folder/libs" ] || return 0
  JAVA_TOOL_OPTIONS="-XX:+IgnoreUnrecognizedVMOptions -XX:ArchiveClassesAtExit=$folder/classes.new" \
    test_server_answers "$folder/temporal-test-server" || true
  # One that was not written to its end is refused.
  if "$(java_command)" "-XX:SharedArchiveFile=$folder/classes.new" -XX:+UseSerialGC -Xshare:on -cp "$folder/libs/*" -version >/dev/null 2>&1; then
    mv "$folder/classes.new" "$folder/classes.jsa"
  else
    rm -f "$folder/classes.new"
  fi
}

# Starts the server once: otherwise only a test would show that it does not run, which costs an hour.
test_server_answers() {
  local port tries=0
  port=$(first_free_port 17233)
  start_process "$1" "$port" --enable-time-skipping >/dev/null 2>&1
  local pid=$started_pid
  while [ "$tries" -lt 150 ] && process_runs "$pid" && ! port_answers "$port"; do
    tries=$((tries + 1))
    sleep 0.2
  done
  local code=1
  if process_runs "$pid" && port_answers "$port"; then
    code=0
  fi
  stop_process "$pid"
  return "$code"
}
