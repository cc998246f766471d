package cli

import "testing"

func TestTheNumberOfNodesIsBounded(t *testing.T) {
	for text, want := range map[string]int{"": 0, "1": 1, "3": 3, "0": -1, "4": -1, "-1": -1, "two": -1} {
		got, err := parseNodes(text)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
}
