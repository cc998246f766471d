// This empty module keeps the tools out of the product's dependencies.
// Each tool is pinned in a module file of its own beside this one, used by
// `go build -modfile=<tool>.mod tool`, so that no tool constrains another.
module github.com/critical-service/operator/hack/tools

go 1.26.0
