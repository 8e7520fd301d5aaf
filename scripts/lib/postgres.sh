# A throw-away PostgreSQL cluster on a Unix socket, owned by an unprivileged user: the server
# refuses to run as root. Sets COMITY_TEST_POSTGRES; `stop_postgres` removes it all.

as_postgres_user() {
    if [ "$(id -u)" = 0 ]; then
        runuser -u nobody -- "$@"
    else
        "$@"
    fi
}

start_postgres() {
    local bin
    bin=$(postgres_bin)
    cluster=$(mktemp -d "${TMPDIR:-/tmp}/comity-postgres.XXXXXX")
    [ "$(id -u)" != 0 ] || chown nobody "$cluster"
    (
        cd "$cluster"
        as_postgres_user "$bin/initdb" --pgdata="$cluster/data" --username=comity --auth=trust \
            --encoding=UTF8 --locale=C --no-sync >"$cluster.log"
        as_postgres_user "$bin/pg_ctl" --pgdata="$cluster/data" --log="$cluster/server.log" --wait \
            --options="-c listen_addresses='' -c unix_socket_directories='$cluster' \
                -c max_connections=400 -c shared_buffers=64MB" start >>"$cluster.log"
    )
    export COMITY_TEST_POSTGRES="postgres:///postgres?host=$cluster&user=comity"
}

stop_postgres() {
    [ -n "${cluster:-}" ] || return 0
    (cd / && as_postgres_user "$(postgres_bin)/pg_ctl" --pgdata="$cluster/data" --mode=immediate stop >/dev/null) || true
    rm -rf "$cluster" "$cluster.log"
    cluster=
}
