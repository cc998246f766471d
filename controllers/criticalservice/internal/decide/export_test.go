package decide

// RuleOf is the position of the rule that explains a Snapshot, among as many as there
// are; -1 if none is asked.
func RuleOf(s Snapshot) (position, count int) {
	if s.Service == nil {
		return -1, len(rules)
	}
	f := factsOf(s)
	if f.governor == nil {
		return -1, len(rules)
	}
	d := decisionOf(f)
	applied := first(rules, &d)
	for i := range rules {
		if &rules[i] == applied {
			return i, len(rules)
		}
	}
	return -1, len(rules)
}
