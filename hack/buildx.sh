#!/usr/bin/env bash
# Builds an image for several platforms, and pushes it under one name.
#
#   hack/buildx.sh IMAGE PLATFORM[,PLATFORM...] [ARGUMENTS OF build...]
#
# CONTAINER_TOOL is docker, which gets a builder of its own for that, podman or buildah. With PREBUILT,
# the binaries are compiled here.
set -euo pipefail
cd "$(dirname "$0")/.."

image=${1:?usage: hack/buildx.sh IMAGE PLATFORMS [ARGUMENTS]} platforms=${2:?which platforms?}
shift 2
tool=${CONTAINER_TOOL:-$(hack/container-tool.sh)}

if [[ ${PREBUILT:-} ]]; then
  for platform in ${platforms//,/ }; do make --no-print-directory binaries ARCH="${platform#linux/}"; done
fi

if [[ ${tool##*/} == docker ]]; then
  # The builder that docker has by itself builds for one platform.
  builder=critical-service-operator
  "$tool" buildx create --name "$builder" >/dev/null
  trap '"$tool" buildx rm "$builder" >/dev/null' EXIT
  "$tool" buildx build --builder "$builder" --push --platform "$platforms" --tag "$image" "$@" .
  exit
fi

# What an earlier build left under this name would be in the index as well.
"$tool" manifest rm "$image" >/dev/null 2>&1 || true
"$tool" build --platform "$platforms" --manifest "$image" "$@" .
"$tool" manifest push --all "$image" "docker://$image"
