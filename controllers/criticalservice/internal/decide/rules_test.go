package decide_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// explained counts the cases of all tables by the rule that explains them.
var explained = map[int]int{}

func note(s decide.Snapshot) {
	if position, _ := decide.RuleOf(s); position >= 0 {
		explained[position]++
	}
}

// TestMain wants a case for every rule: one that no case reaches is not shown to be
// right, or can never apply.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	_, count := decide.RuleOf(snapshot())
	for position := range count {
		if whole := flag.Lookup("test.run").Value.String() == ""; whole && code == 0 && explained[position] == 0 {
			fmt.Fprintf(os.Stderr, "no case of a table is explained by rule %d of the list in explain.go\n", position)
			code = 1
		}
	}
	os.Exit(code)
}
