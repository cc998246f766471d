#!/usr/bin/env bash
# Lets every fuzz target look for inputs that fail, one after the other:
#
#   hack/fuzz.sh TIME [PATTERN]     TIME for each, for example 1m; only those whose name matches PATTERN
#
# An input that fails is kept under testdata/fuzz beside the test: commit it with the change that fixes it.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly time=${1:?usage: hack/fuzz.sh TIME [PATTERN]} pattern=${2:-.}

# FILE:func FuzzName(...
targets=$(git grep --untracked -E "^func Fuzz" -- '*_test.go' | sed -E 's/^(.*)\/[^/]+:func (Fuzz[A-Za-z0-9_]*).*/\1 \2/' | awk -v pattern="$pattern" '$2 ~ pattern')
if [[ -z $targets ]]; then
  echo "No fuzz target matches '$pattern'. There are: $(git grep --untracked -hoE '^func Fuzz\w+' -- '*_test.go' | cut -c 6- | paste -sd ' ')" >&2
  exit 1
fi

failed=()
while read -r folder name; do
  printf '\n==> %s in %s, for %s\n' "$name" "$folder" "$time"
  # In the folder, because it may be of another module. An input that is interesting is made smaller for a minute, by default:
  # large ones took all the time.
  go -C "$folder" test . -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 10x </dev/null || failed+=("$folder: $name")
done <<<"$targets"

printf '\n%d targets, %d failed\n' "$(wc -l <<<"$targets")" "${#failed[@]}"
if ((${#failed[@]})); then
  printf 'failed: %s\n' "${failed[@]}"
  git ls-files --others --exclude-standard -- '*/testdata/fuzz/*'
  exit 1
fi
