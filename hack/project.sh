# Sourced by the scripts that serve both projects of this repository: that of the root, and its sibling workloads/. Each is
# a project of Operator SDK, and all its names follow from the one in its PROJECT.
# shellcheck shell=bash disable=SC2034

# use_project [DIR] sets project (its folder), package (also the name of its operator and its chart), and repository, the
# name of its image without a tag, with which the names of its other images begin.
use_project() {
  project=${1:-.}
  package=$(sed -n 's/^projectName: //p' "$project/PROJECT")
  repository=quay.io/critical-service/${package#critical-service-}
}

# need_image IMAGE <MANIFESTS fails unless the operator in rendered manifests has the image: kustomize replaces an image by
# its name, and leaves one with another name as it is.
need_image() {
  sed -n 's/^ *\(- \)\{0,1\}image: //p' | grep --line-regexp --fixed-strings -- "$1" >/dev/null || {
    echo "The manifests do not have the image $1: $project/config/manager must name the operator's image $repository," >&2
    echo "which is replaced there. Undo what 'kustomize edit set image' has changed, and give your image as IMG." >&2
    return 1
  }
}
