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
