// Command crds prints the CustomResourceDefinitions of the OLM that it is pinned
// with. The files that OLM's own repository has for that are of an older version.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/api/crds"
)

func main() {
	names := crds.AssetNames()
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		content, err := crds.Asset(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("---\n%s\n", content)
	}
}
