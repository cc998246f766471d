// Command dashboard writes the Grafana dashboard of the operator, as `make dashboard`
// does:
//
//	go run ./hack/dashboard -out config/grafana/critical-service-operator.json
//
// The panels are in panels.go. test/observability executes every query of the result
// against a Prometheus that has seen an outage.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	out := flag.String("out", "config/grafana/critical-service-operator.json", "file to write")
	flag.Parse()
	content, err := render()
	if err == nil {
		err = os.WriteFile(*out, content, 0o600)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "dashboard: %v\n", err)
		os.Exit(1)
	}
}

// render is the dashboard as JSON, the same for the same code.
func render() ([]byte, error) {
	board, err := outageBoard()
	if err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(board, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(content, '\n'), nil
}
