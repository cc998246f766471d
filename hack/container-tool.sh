#!/usr/bin/env bash
# Prints the first of docker, podman and buildah that works here. An installed
# docker without a daemon, for example, does not.
set -euo pipefail

for tool in docker podman buildah; do
  if command -v "$tool" >/dev/null && "$tool" info >/dev/null 2>&1; then
    echo "$tool"
    exit
  fi
done
echo "no working docker, podman or buildah found: install one, or name one with CONTAINER_TOOL=..." >&2
exit 1
