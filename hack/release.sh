#!/usr/bin/env bash
# Makes everything that is published of a version of both operators, in dist/: the images for every architecture, the
# bundles that name them by digest, the catalog, dist/install.yaml and dist/install-workloads.yaml, the Helm charts,
# SBOMs, and checksums. It publishes nothing; at its end it says what a person does next. See docs/maintainers/release.md.
#
#   hack/release.sh vX.Y.Z
#   hack/release.sh vX.Y.Z-WORD catalog    only the image of catalog/ as it is, when a channel has changed since
#
# The images go through a registry that runs as long as this does, on the loopback interface, or through REGISTRY
# (host:port), and from there into dist/images as OCI layouts. OPM_IMAGE, by digest, is what the catalog's image is
# made from.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/project.sh
source hack/project.sh

readonly version=${1:-} only=${2:-}
readonly number=${version#v}
# The folders of the projects; that of the root is empty.
readonly projects=('' workloads)
readonly published=quay.io/critical-service
readonly architectures=(amd64 arm64 ppc64le s390x)
readonly tools=${TOOLS:-$PWD/bin/tools}
tool=${CONTAINER_TOOL:-$(hack/container-tool.sh)}
readonly tool

say() { printf '\n== %s\n' "$*"; }

refuse() {
  echo "There is no release: $*" >&2
  exit 1
}

# check refuses to release what could not be found again, or what does not fit together.
check() {
  [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] ||
    refuse "'$version' is no version. Run for example: make release VERSION=v1.0.0"
  [[ ${OPM_IMAGE:-} =~ @sha256:[0-9a-f]{64}$ ]] ||
    refuse "OPM_IMAGE is '${OPM_IMAGE:-}', and a tag can mean another image tomorrow. Give the base of the catalog's image by digest: OPM_IMAGE=quay.io/operator-framework/opm@sha256:..."
  [[ -z $(git status --porcelain) ]] ||
    refuse "the working tree has changes, which would be in it and in no commit. Commit them, or put them aside."
  [[ $only == catalog ]] || check_version
  check_catalog
}

# check_catalog refuses a catalog that offers what is not published, and is not the version to release.
check_catalog() {
  local unreleased
  unreleased=$(grep --files-without-match '^image: .*@sha256:' catalog/*/bundles/*.yaml |
    grep --invert-match "/bundles/$version.yaml\$" || true)
  [[ -z $unreleased ]] ||
    refuse "${unreleased//$'\n'/ } names its image by tag, as no released version does. Copy it from dist/catalog of its release."
}

check_version() {
  local tagged others unreleased
  tagged=$(git rev-parse --quiet --verify "refs/tags/$version^{commit}" || true)
  [[ -z $tagged || $tagged == "$(git rev-parse HEAD)" ]] ||
    refuse "$version is already the tag of another commit, $tagged. A version is released once: take the next one."
  others=$(git tag --points-at HEAD --list 'v*' | grep --invert-match --line-regexp --fixed-strings "$version" || true)
  [[ -z $others ]] || refuse "this commit has the tag ${others//$'\n'/ }, which is not $version."
  # The page of the release is that section.
  grep --quiet --extended-regexp "^## \[${number//./\\.}\] - [0-9]{4}-[0-9]{2}-[0-9]{2}\$" CHANGELOG.md ||
    refuse "CHANGELOG.md has no section '## [$number] - YYYY-MM-DD'. Say there what is new, and on which day it is released."
  unreleased=$(awk '/^## / {on = $2 == "[Unreleased]"; next} on && NF && !/^### /' CHANGELOG.md)
  [[ -z $unreleased ]] ||
    refuse "CHANGELOG.md has entries under [Unreleased], which are in this commit too. Move them to '## [$number]'."
  local folder
  for folder in "${projects[@]}"; do
    use_project "$folder"
    grep --quiet --line-regexp --fixed-strings "  name: $package.$version" "$project/bundle/manifests/$package.clusterserviceversion.yaml" ||
      refuse "${folder:+$folder/}bundle/ is of another version. Set VERSION to $number in the Makefile, run 'make ${folder:+-C $folder }bundle catalog', and commit."
    grep --quiet --line-regexp --fixed-strings -- "- name: $package.$version" "catalog/$package/channels.yaml" ||
      refuse "no channel in catalog/$package/channels.yaml has $package.$version. Add an entry that replaces the version before."
  done
}

# use_registry sets registry: the given one, or one that ends with this script.
use_registry() {
  registry=${REGISTRY:-}
  [[ -z $registry ]] || return 0
  mkdir "$work/registry"
  "$tools/crane" registry serve --address 127.0.0.1:0 --disk "$work/registry" > "$work/registry.log" 2>&1 &
  registry_process=$!
  local port=''
  until [[ $port ]]; do
    kill -0 "$registry_process" 2>/dev/null || refuse "no registry could be started: $(cat "$work/registry.log")"
    port=$(sed -n 's/.*serving on port \([0-9]*\).*/\1/p' "$work/registry.log")
    sleep 0.1
  done
  registry=127.0.0.1:$port
}

# Which tool needs which flags. docker takes a loopback registry without TLS, and the time from SOURCE_DATE_EPOCH,
# but adds an attestation that would be one more platform of the index.
build_flags=() push_flags=()
set_flags() {
  export BUILDX_NO_DEFAULT_ATTESTATIONS=1
  [[ $tool != docker ]] || return 0
  # Where a Dockerfile says BUILDPLATFORM, earlier versions of buildah do not know it.
  build_flags+=(--timestamp "$SOURCE_DATE_EPOCH" --build-arg BUILDPLATFORM="linux/$(go env GOARCH)")
  case $registry in
    127.*|localhost:*) push_flags+=(--tls-verify=false) ;;
  esac
}

# image NAME ARG... builds and pushes an image for every architecture, as one index, and takes it into dist/images.
# In the arguments, @ARCH@ stands for the architecture, and @OPM_IMAGE@ for the image of opm for it.
image() {
  local name=$1 arch reference=$registry/critical-service/$1:$version members=() arguments
  shift
  say "$name:$version"
  for arch in "${architectures[@]}"; do
    arguments=("${@//@ARCH@/$arch}")
    [[ $* != *@OPM_IMAGE@* ]] || arguments=("${arguments[@]//@OPM_IMAGE@/$(opm "$arch")}")
    "$tool" build --quiet --platform "linux/$arch" --tag "$reference-$arch" "${build_flags[@]}" "${arguments[@]}" > /dev/null
    "$tool" push --quiet "${push_flags[@]}" "$reference-$arch" > /dev/null
    "$tool" rmi --force "$reference-$arch" > /dev/null
    members+=(--manifest "$reference-$arch")
  done
  "$tools/crane" index append "${members[@]}" --tag "$reference"
  "$tools/crane" validate --remote "$reference"
  "$tools/crane" pull --format oci "$reference" "dist/images/$name"
  digest[$name]=$("$tools/crane" digest "$reference")
  echo "$published/$name:$version@${digest[$name]}" | tee -a dist/images.txt
}

# opm ARCH is opm's image for an architecture.
opm() { echo "${OPM_IMAGE%@*}@$("$tools/crane" digest --platform "linux/$1" "$OPM_IMAGE")"; }

# catalog_image builds the image of dist/catalog.
catalog_image() {
  "$tools/opm" validate dist/catalog
  mkdir "$work/context"
  cp -R dist/catalog catalog.Dockerfile "$work/context"
  image operator-catalog --file "$work/context/catalog.Dockerfile" --build-arg VERSION="$version" \
    --build-arg OPM_IMAGE=@OPM_IMAGE@ --build-arg OPM_BUILDER="$(opm "$(go env GOARCH)")" "$work/context"
}

# operator DIR makes what is published of a project: its images, its bundle, its version in dist/catalog, its install in
# one file, and its chart.
operator() {
  local name bundle=dist/bundle${1:+-$1}
  use_project "$1"
  name=${repository##*/}
  image "$name" --file "$project/Dockerfile" --target prebuilt --build-arg BASE=scratch \
    --build-arg VERSION="$version" --build-arg COMMIT="$commit" .
  image "$name-scorecard" --file test/scorecard/Dockerfile --build-arg VERSION="$version" --build-arg COMMIT="$commit" "bin${1:+/$1}/linux-@ARCH@"

  TOOLS=$tools USE_IMAGE_DIGESTS=true hack/bundle.sh --project "$project" --version "$number" \
    --image "$repository@${digest[$name]}" --scorecard-image "$repository-scorecard@${digest[$name-scorecard]}" --output "$bundle"
  image "$name-bundle" --file "$bundle/bundle.Dockerfile" "$bundle"
  TOOLS=$tools hack/catalog.sh --project "$project" --bundle "$bundle" --catalog dist/catalog \
    --bundle-image "$repository-bundle@${digest[$name-bundle]}"

  say "$package: the install in one file, and the Helm chart"
  NETWORK_POLICIES="" hack/render.sh "$repository:$version" "$project" > "dist/install${1:+-$1}.yaml"
  hack/chart.sh "$number" "$project" > /dev/null
}

# provenance writes dist/provenance.json: from which commit, with which base, and by whom everything was made (SLSA 1.0).
provenance() {
  local source=https://github.com/critical-service/operator builder invocation=''
  builder=$source/blob/$commit/hack/release.sh
  if [[ ${GITHUB_ACTIONS:-} ]]; then
    builder=$GITHUB_SERVER_URL/$GITHUB_WORKFLOW_REF
    invocation=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID/attempts/$GITHUB_RUN_ATTEMPT
  fi
  cat > dist/provenance.json <<JSON
{
  "buildDefinition": {
    "buildType": "$source/blob/main/docs/maintainers/release.md#making-a-release",
    "externalParameters": {"version": "$version", "only": "$only"},
    "resolvedDependencies": [
      {"uri": "git+$source@refs/tags/$version", "digest": {"gitCommit": "$commit"}},
      {"uri": "oci://${OPM_IMAGE%@*}", "digest": {"sha256": "${OPM_IMAGE##*@sha256:}"}}
    ]
  },
  "runDetails": {
    "builder": {"id": "$builder"},
    "metadata": {"invocationId": "$invocation"}
  }
}
JSON
}

# checksums writes dist/SHA256SUMS.
checksums() {
  (cd dist && find . -type f -print0 | LC_ALL=C sort --zero-terminated | xargs -0 sha256sum) > "$work/SHA256SUMS"
  cp "$work/SHA256SUMS" dist/
}

# What a person does with what is in dist/.
next() {
  say "dist/ has everything of $version. Nothing is published yet. What you do now (docs/maintainers/release.md says why):"
  echo
  [[ $(git tag --points-at HEAD --list "$version") ]] || echo "  git tag --sign --message 'Release $version' $version"
  cat <<TEXT
  git push origin $version    # on GitHub the workflow "release" does the same from the tag, and publishes when a maintainer approves
  make publish VERSION=$version    # instead of the workflow
  Offer dist/critsvc.yaml, the manifest of the kubectl plugin, to https://github.com/kubernetes-sigs/krew-index as plugins/critsvc.yaml.
TEXT
  for folder in "${projects[@]}"; do
    use_project "$folder"
    echo "  cp dist/catalog/$package/bundles/$version.yaml catalog/$package/bundles/    # and commit: what is released is named by digest from now on"
  done
}

work=$(mktemp -d)
registry_process=''
trap '[[ -z $registry_process ]] || kill "$registry_process"; rm -rf "$work"' EXIT
declare -A digest

check
commit=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
# Without the folder it was compiled in, a binary is the same wherever it is compiled.
GOFLAGS="${GOFLAGS:-} -trimpath"
export SOURCE_DATE_EPOCH GOFLAGS
use_registry
set_flags
rm -rf dist
mkdir -p dist/images

if [[ $only == catalog ]]; then
  cp -R catalog dist/catalog
  catalog_image
  provenance
  checksums
  say "dist/ has the catalog. Nothing is published yet. What you do now:"
  echo "  make publish VERSION=$version"
  exit
fi

say "Binaries, and what is in them"
for arch in "${architectures[@]}"; do
  make --no-print-directory sbom ARCH="$arch" VERSION="$version" COMMIT="$commit"
  make --no-print-directory --directory=workloads sbom ARCH="$arch" VERSION="$version" COMMIT="$commit"
done

cp -R catalog dist/catalog
for folder in "${projects[@]}"; do operator "$folder"; done
catalog_image

say "The kubectl plugin"
hack/plugin.sh "$version" "$commit"

provenance
checksums
next
