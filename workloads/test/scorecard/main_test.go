package main

import (
	"path/filepath"
	"testing"

	"github.com/critical-service/operator/test/scorecard/suite/suitetest"
	"github.com/critical-service/operator/workloads/test/scorecard/checks"
)

func TestTheProgram(t *testing.T) {
	suitetest.Program(t, checks.Suite, filepath.Join("..", "..", "bundle", "tests", "scorecard", "config.yaml"))
}
