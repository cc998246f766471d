#!/usr/bin/env bash
# Builds the ingress controllers from their pinned Go modules and prints the folder they are in.
# They are kept under a key of all that goes into them, so a second call takes milliseconds.
# `build.sh tidy` tidies the module files.
#
# The module files are not called go.mod, because Traefik builds only beside the patched copy of
# lego that this script makes.
set -euo pipefail
cd "$(dirname "$0")"

here=$PWD
key=$(cat build.sh ./*.mod ./*.sum lego_dns.go.txt <(go env GOVERSION GOARCH) | sha256sum | cut -c 1-12)
bin=$here/../../bin/consumers/$key
work=$here/../../bin/consumers/work
export CGO_ENABLED=0 GOWORK=off

main() {
  if [[ ${1:-} == tidy ]]; then
    for name in traefik haproxy-ingress; do
      workspace "$name"
      (cd "$work/$name" && go mod tidy)
      cp "$work/$name/go.mod" "$here/$name.mod"
      cp "$work/$name/go.sum" "$here/$name.sum"
    done
    return
  fi
  if [[ ! -e $bin/complete ]]; then
    mkdir -p "$bin"
    build traefik github.com/traefik/traefik/v3/cmd/traefik
    build haproxy-ingress github.com/jcmoraisjr/haproxy-ingress/pkg
    rm -rf "$bin/rootfs"
    cp -r "$(module haproxy-ingress github.com/jcmoraisjr/haproxy-ingress)/rootfs" "$bin/rootfs"
    chmod -R u+w "$bin/rootfs"
    touch "$bin/complete"
  fi
  (cd "$bin" && pwd)
}

# build NAME PACKAGE
build() {
  local begun=$SECONDS
  echo "building $1 (once)" >&2
  workspace "$1"
  (cd "$work/$1" && go build -buildvcs=false -ldflags "-s -w" -o "$bin/$1" "$2") >&2
  echo "built $1 in $((SECONDS - begun)) s" >&2
}

# workspace NAME makes the module in which NAME is built.
workspace() {
  rm -rf "${work:?}/$1"
  mkdir -p "$work/$1"
  cp "$1.mod" "$work/$1/go.mod"
  cp "$1.sum" "$work/$1/go.sum"
  [[ $1 != traefik ]] || lego "$work/$1/lego"
}

# lego copies lego, Traefik's library for certificates, without its list of DNS providers: the
# clients of their clouds are most of what would have to be compiled, and no test asks for a certificate.
lego() {
  local version
  version=$(awk '$1 == "github.com/go-acme/lego/v4" && $2 != "=>" {print $2}' traefik.mod)
  cp -r "$(cd "$(mktemp -d)" && go mod download -json "github.com/go-acme/lego/v4@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')" "$1"
  chmod -R u+w "$1"
  rm -rf "${1:?}/providers/dns"
  mkdir "$1/providers/dns"
  cp lego_dns.go.txt "$1/providers/dns/dns.go"
}

# module NAME PATH prints the folder of a module.
module() {
  (cd "$work/$1" && go list -m -f '{{.Dir}}' "$2")
}

main "$@"
