#!/usr/bin/env bash
# Writes the OLM bundle of a version: manifests/, metadata/, tests/ and
# bundle.Dockerfile. The same arguments give the same bytes.
#
#   hack/bundle.sh [--project DIR] --version X.Y.Z --image REF [--scorecard-image REF]
#                  [--output DIR] [--channels A,B] [--default-channel A]
#
# The project is that of the root, or --project workloads.
#
# The channel of the bundle, and what it replaces and skips, are those of the upgrade graph
# (catalog/PACKAGE/channels.yaml): of stable-v1, or of candidate-v1 while it is a candidate only, or of the only one that
# has the version.
# Catalogs in replaces-mode take them from the bundle, and get stable ones only. --channels names others, for a
# catalog that is not this project's.
#
# Without --output it is the bundle of the project: bundle/, and
# bundle.Dockerfile beside it; it is validated. With --output everything is in DIR, which is also
# the context to build the image from.
#
# USE_IMAGE_DIGESTS=true looks the digest of the image up in its registry and
# names the image by it, as a release does, and refuses a bundle with an image that
# has none. An image that is given by its digest stays as it is, and no registry is
# asked.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=hack/project.sh
source hack/project.sh

readonly tools=${TOOLS:-$PWD/bin/tools}

usage() {
  sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

project='' version='' image='' scorecard_image='' output='' given_channels='' default_channel=''
while (($#)); do
  case $1 in
    --project) project=${2:?} ;;
    --version) version=${2:?} ;;
    --image) image=${2:?} ;;
    --scorecard-image) scorecard_image=${2:?} ;;
    --output) output=${2:?} ;;
    --channels) given_channels=${2:?} ;;
    --default-channel) default_channel=${2:?} ;;
    *) usage ;;
  esac
  shift 2
done
[[ $version && $image ]] || usage

refuse() {
  echo "There is no bundle: $*" >&2
  exit 1
}

# quietly COMMAND...: what it says matters only if it fails.
quietly() {
  local said
  said=$("$@" 2>&1) || refuse "$said"
}

if [[ ${USE_IMAGE_DIGESTS:-} == true && $image != *@* ]]; then
  # Not by operator-sdk's --use-image-digests, which overlooks the annotation containerImage.
  digest=$("$tools/crane" digest "$image")
  image=${image%:*}@$digest
fi
use_project "$project"
readonly project package repository
readonly graph=catalog/$package/channels.yaml csv_base=$project/config/manifests/bases/$package.clusterserviceversion.yaml
scorecard_image=${scorecard_image:-$repository-scorecard:v$version}

# in_graph prints a line for each channel that has this version: the channel, what is replaced there, and what is
# skipped, with | between them.
in_graph() {
  awk -v name="$package.v$version" '
    function tell() { if (found) print channel "|" replaces "|" skips; found = 0; replaces = skips = "" }
    function skip(version) { skips = skips (skips ? ", " : "") version }
    /^name: / { tell(); channel = $2 }
    /^- name: / { tell(); found = $3 == name }
    /^  replaces: / { replaces = $2 }
    /^  - / { skip($2) }
    /^  skips: *\[/ { gsub(/[][,]/, " "); for (i = 2; i <= NF; i++) skip($i) }
    END { tell() }
  ' "$graph"
}

# A catalog in replaces-mode makes a channel of its newest bundle, what that replaces, what that replaces in turn, and
# so on, whatever channels the earlier ones name. So a bundle of stable-v1 replaces the stable one before it, and names
# candidate-v1 neither: that catalog has no candidates.
entries=$(in_graph)
channels=$given_channels
if [[ ! $channels ]]; then
  channels=$(cut -d '|' -f 1 <<< "$entries" | paste -s -d , -)
  case ,$channels, in
    *,stable-v1,*) channels=stable-v1 ;;
    *,candidate-v1,*) channels=candidate-v1 ;;
    *,*,*,*) refuse "$graph has $package.v$version in $channels: give CHANNELS, and first the one whose 'replaces' the bundle gets." ;;
  esac
fi
if [[ ! $channels ]]; then
  [[ $output ]] || refuse "$graph has no entry of $package.v$version.
For a catalog of your own: give CHANNELS as well, for example CHANNELS=alpha.
For this project's: add an entry to candidate-v1, and to stable-v1 if it goes there at once."
  # It is for a test, whose catalog has channels of its own.
  channels=stable-v1
fi
# The default channel is that of the package, and a catalog takes it from its newest bundle: a candidate must not
# make candidate-v1 the default. So it is stable-v1, which has had a version since the first release, in every bundle
# of this project's channels.
if [[ ! $default_channel ]]; then
  case ,$channels, in
    *,stable-v1,* | *,candidate-v1,*) default_channel=stable-v1 ;;
    *) default_channel=${channels%%,*} ;;
  esac
fi
[[ $channels =~ ^[A-Za-z0-9._-]+(,[A-Za-z0-9._-]+)*$ ]] || refuse "CHANNELS is '$channels', and must be names with commas between them."
twice=$(tr , '\n' <<< "$channels" | sort | uniq --repeated | paste -s -d , -)
[[ ! $twice ]] || refuse "CHANNELS is '$channels', which has $twice twice."
# The graph is that of the bundle's catalog only if it has all channels of the bundle.
known=,$(sed -n 's/^name: //p' "$graph" | paste -s -d , -),
for channel in ${channels//,/ }; do
  [[ $known == *,"$channel",* ]] || known=,$channels,
done
[[ $known == *,"$default_channel",* ]] ||
  refuse "DEFAULT_CHANNEL is $default_channel, which is neither one of $channels nor beside them in $graph."
# What is replaced is that of the first channel that has this version.
IFS='|' read -r _ replaces skips <<< "$(for channel in ${channels//,/ }; do grep "^$channel|" <<< "$entries" || true; done)"

mkdir -p bin
work=$(mktemp -d bin/bundle.XXXXXX)
trap 'rm -rf "$work"' EXIT

# overlay prints config/manifests for this version and image. The icon comes in
# here, so that it is kept once, as what it is.
overlay() {
  mkdir "$work/overlay"
  cat > "$work/overlay/kustomization.yaml" <<YAML
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ../../../$project/config/manifests
replacements:
- source:
    kind: Deployment
    name: $package
    fieldPath: spec.template.spec.containers.[name=manager].image
  targets:
  - select:
      kind: ClusterServiceVersion
    fieldPaths: [metadata.annotations.containerImage]
patches:
- target:
    kind: ClusterServiceVersion
  patch: |
    - op: replace
      path: /spec/icon/0/base64data
      value: $(base64 < "$project/config/manifests/icon.svg" | tr -d '\n')
YAML
  if [[ $replaces ]]; then
    cat >> "$work/overlay/kustomization.yaml" <<YAML
    - op: add
      path: /spec/replaces
      value: $replaces
YAML
  fi
  if [[ $skips ]]; then
    cat >> "$work/overlay/kustomization.yaml" <<YAML
    - op: add
      path: /spec/skips
      value: [$skips]
YAML
  fi
  (cd "$work/overlay" && "$tools/kustomize" edit set image "$repository=$image")
  "$tools/kustomize" build "$work/overlay" |
    sed "s#$repository-scorecard:.*#$scorecard_image#"
}

# settle makes a generated CSV the same every time: created when its base says
# so, and with every image that is used among its related images. There is one:
# the responder's is the operator's own. A release, which is written elsewhere,
# is as old as its commit. Links lead to the documents of the version.
settle() {
  local csv=$1 created
  created=$(sed -n 's/^    createdAt: //p' "$csv_base")
  if [[ $output && ${SOURCE_DATE_EPOCH:-} ]]; then
    created=$(TZ=UTC printf '"%(%Y-%m-%dT%H:%M:%SZ)T"' "$SOURCE_DATE_EPOCH")
  fi
  awk -v created="$created" -v documents="/critical-service/operator/blob/v$version/" '
    { gsub("/critical-service/operator/blob/main/", documents) }
    /^    createdAt: / { print "    createdAt: " created; next }
    /^    containerImage: / { image = $2 }
    /^  version: / { print "  relatedImages:\n  - image: " image "\n    name: manager" }
    { print }
  ' "$csv" > "$work/csv"
  cp "$work/csv" "$csv"
}

# The descriptors of the base come from the markers in api/.
(cd "$project" && quietly "$tools/operator-sdk" generate kustomize manifests --quiet --interactive=false --package "$package")

# In a folder of its own, because it writes bundle.Dockerfile where it runs.
cp "$project/PROJECT" "$work"
manifests=$(overlay)
need_image "$image" <<< "$manifests"
printf '%s\n' "$manifests" | (cd "$work" && quietly "$tools/operator-sdk" generate bundle --quiet --package "$package" --version "$version" \
  --channels "$channels" --default-channel "$default_channel")
csv=$work/bundle/manifests/$package.clusterserviceversion.yaml
settle "$csv"
# operator-sdk writes the fields that an API server would fill in: no creation time, and an empty status.
for manifest in "$work"/bundle/manifests/*.yaml; do
  [[ $manifest != "$csv" ]] || continue
  sed -e '/^  creationTimestamp: null$/d' -e '/^status:$/,$d' "$manifest" > "$work/manifest"
  cp "$work/manifest" "$manifest"
done
if [[ ${USE_IMAGE_DIGESTS:-} == true ]] && grep --extended-regexp '^ *(- )?(image|containerImage): ' "$csv" |
  grep --invert-match --extended-regexp '@sha256:[0-9a-f]{64}$' >&2; then
  echo "There is no bundle: it names the images above by tag, and what a tag means can change. Name them by digest (@sha256:...)." >&2
  exit 1
fi
# OLM makes a Service for the webhooks itself. This one only informs Operator SDK which Deployment serves them.
rm "$work/bundle/manifests/"*-webhook_v1_service.yaml

if [[ $output ]]; then
  sed 's#^COPY bundle/#COPY #' "$work/bundle.Dockerfile" > "$work/bundle/bundle.Dockerfile"
else
  quietly "$tools/operator-sdk" bundle validate "$work/bundle"
  output=$project/bundle
  cp "$work/bundle.Dockerfile" "$project/bundle.Dockerfile"
fi
# What an earlier version had and this one has not must not stay.
mkdir -p "$output"
rm -rf "$output/manifests" "$output/metadata" "$output/tests"
cp -R "$work/bundle/." "$output/"

echo "${output#./} is $package.v$version in ${channels//,/, } (default: $default_channel), with the image $image."
[[ $image == quay.io/critical-service/* || $scorecard_image != quay.io/critical-service/* ]] ||
  ! grep --quiet --fixed-strings "$scorecard_image" "$output/tests/scorecard/config.yaml" ||
  echo "Its scorecard tests are the project's, of $scorecard_image: for your own, give SCORECARD_IMG or IMAGE_TAG_BASE."
