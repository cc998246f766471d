#!/usr/bin/env bash
# Prints the folder that has promtool and prometheus:
#
#   hack/prometheus.sh             those in the PATH, those fetched before, or else Debian's, fetched now
#   hack/prometheus.sh --present   the same, but fetches nothing
#
# The package is unpacked into bin/prometheus-VERSION and not installed: it would start a service.
# Root is not needed.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

in_path() {
  local tool
  tool=$(command -v promtool) || return 1
  [[ -x $(dirname "$tool")/prometheus ]] || return 1
  dirname "$tool"
}

unpacked() {
  local folder
  folder=$(find bin -maxdepth 1 -type d -name 'prometheus-*' 2>/dev/null | sort --version-sort | tail -n 1)
  [[ -n $folder && -x $folder/promtool && -x $folder/prometheus ]] || return 1
  echo "$PWD/$folder"
}

# fetch unpacks Debian's package aside, and moves it to its place when it is whole.
fetch() {
  local as=() version aside
  if ! command -v apt-get >/dev/null || ! command -v dpkg >/dev/null; then
    fail "promtool and prometheus are not in the PATH, and only Debian's package can be fetched here." \
      "Install Prometheus 2.42 or newer, both programs into one folder of the PATH (https://prometheus.io/download), and try again."
  fi
  mkdir -p bin
  aside=$(mktemp -d "$PWD/bin/.prometheus.XXXXXX")
  # shellcheck disable=SC2064 # The folder is known now.
  trap "rm -rf '$aside'" EXIT
  if ((EUID == 0)); then
    # The user that apt downloads as may not write here.
    as=(-o APT::Sandbox::User=root)
    apt-cache show prometheus >/dev/null 2>&1 || apt-get update -qq >&2
  fi
  (cd "$aside" && apt-get download -qq "${as[@]}" prometheus >&2) ||
    fail "apt-get cannot download the package prometheus: run 'apt-get update' as root, or install Prometheus yourself, and try again."
  version=$(dpkg-deb --field "$aside"/prometheus_*.deb Version)
  dpkg-deb --extract "$aside"/prometheus_*.deb "$aside/root"
  mkdir "$aside/programs"
  mv "$aside/root/usr/bin/prometheus" "$aside/root/usr/bin/promtool" "$aside/programs/"
  # Another run may have been faster.
  mv --no-target-directory "$aside/programs" "bin/prometheus-${version//[^0-9A-Za-z.+-]/_}" 2>/dev/null || true
  unpacked || fail "the package prometheus $version was fetched but has no promtool that can be run here."
}

in_path || unpacked || {
  [[ ${1:-} != --present ]] ||
    fail "promtool and prometheus are neither in the PATH nor in bin/: run hack/prometheus.sh, which fetches Debian's."
  fetch
}
