// Command scorecard is the scorecard image of the workloads operator: see checks.
package main

import "github.com/critical-service/operator/workloads/test/scorecard/checks"

func main() { checks.Suite.Main() }
