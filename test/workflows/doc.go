// Package workflows holds the repository's automation (.github, .devcontainer, .ci/run) against the repository. GitHub
// runs it, and no developer's machine does: what can be known beforehand is tested here and by actionlint.
package workflows
