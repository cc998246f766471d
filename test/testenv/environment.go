package testenv

import (
	"os"
	"strconv"
	"testing"
)

// Number is the number that an environment variable has, for what a longer run does more often; otherwise is that of
// every run of the tests.
func Number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s is no number: %v", variable, err)
	}
	return number
}
