# Installs what the scripts need, by Debian package name, unless it is there.

need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing+=("$2")
}

install_packages() {
    local missing=()
    need git git
    need cc gcc
    need make make
    need strace strace
    need sqlite3 sqlite3
    need runuser util-linux
    need mount mount
    need chattr e2fsprogs
    need python3 python3
    need npm npm
    need chromium chromium
    python3 -c "import ensurepip" 2>/dev/null || missing+=(python3-venv)
    postgres_bin >/dev/null || missing+=(postgresql)
    if [ ${#missing[@]} -gt 0 ]; then
        echo "installing: ${missing[*]}"
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
    fi
}

# The newest PostgreSQL server on this machine.
postgres_bin() {
    local found
    found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
    [ -x "$found/initdb" ] && echo "$found"
}
