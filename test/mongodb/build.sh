#!/usr/bin/env bash
# Prints the folder of the clients of MongoDB, which Debian does not have:
#
#   build.sh             fetches and builds them, unless that was done before
#   build.sh --present   the same, but fetches nothing
#
# In it are mongosh, and two programs that use a driver, Node's (client-node) and Go's (client-go). Both are
# called with a URI, ask for a document with one client for each line of the standard input, and print "ok" or
# the error as one line. Node.js is that of package-lock.json on Linux, else that of the PATH.
set -euo pipefail
cd "$(dirname "$0")"

key=$(cat build.sh package-lock.json client.mjs main.go go.sum | sha256sum | cut -c 1-12)
readonly key bin=../../bin/mongodb/$key

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# node prints the program that runs the others.
node() {
  local pinned
  for pinned in "$1"/node_modules/node-linux-*/bin/node; do
    [[ ! -x $pinned ]] || { echo "$pinned" && return; }
  done
  command -v node || fail "node is missing: install Node.js 20.19 or newer, and try again."
}

# program NAME FILE makes a program of a file for Node.js.
program() {
  local node
  node=$(node "$PWD/$bin")
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$node" "$PWD/$bin/$2" >"$bin/$1"
  chmod +x "$bin/$1"
}

fetch() {
  command -v npm >/dev/null || fail "npm is missing: install it, and try again (Debian: apt-get install npm)."
  echo "fetching the clients of MongoDB (once)" >&2
  rm -rf "$bin"
  mkdir -p "$bin"
  cp package.json package-lock.json client.mjs "$bin/"
  (cd "$bin" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
  program mongosh node_modules/mongosh/bin/mongosh.js
  program client-node client.mjs
  CGO_ENABLED=0 GOWORK=off go build -buildvcs=false -ldflags "-s -w" -o "$bin/client-go" .
  touch "$bin/complete"
}

if [[ ! -e $bin/complete ]]; then
  [[ ${1:-} != --present ]] || fail "the clients of MongoDB are not in bin/: run test/mongodb/build.sh, which fetches them."
  fetch
fi
(cd "$bin" && pwd)
