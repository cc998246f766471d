#!/usr/bin/env bash
# Writes the software bill of materials (SBOM) of a program in CycloneDX: the modules that Go's linker has written into it,
# and Go's standard library. The same program gives the same bytes.
#
#   hack/sbom.sh vX.Y.Z PROGRAM OUTPUT
set -euo pipefail

version=${1:?usage: hack/sbom.sh vX.Y.Z PROGRAM OUTPUT} program=${2:?which program?} output=${3:?to which file?}
root=$(cd "$(dirname "$0")/.." && pwd)

"${TOOLS:-$root/bin/tools}/cyclonedx-gomod" bin -json -noserial -notimestamp -std -version "$version" -output "$output" "$program"
