package cli

import "testing"

func TestWhatIsNotSaidOfNetworkPoliciesIsLeftOpen(t *testing.T) {
	for text, want := range map[string]string{"": "open", "true": "true", "false": "false", "maybe": "an error", "1": "an error", "TRUE": "an error"} {
		enforced, err := parseNetworkPolicies(text)
		got := "open"
		switch {
		case err != nil:
			got = "an error"
		case enforced != nil && *enforced:
			got = "true"
		case enforced != nil:
			got = "false"
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

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
