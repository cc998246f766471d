// Command scorecard is the core's scorecard image: see checks.
package main

import "github.com/critical-service/operator/test/scorecard/checks"

func main() { checks.Suite.Main() }
