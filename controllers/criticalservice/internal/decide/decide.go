package decide

// Decide turns a Snapshot into a Plan, in stages of values:
//
//	facts    what follows from the Snapshot alone, computed once
//	choice   which fallback the Service gets
//	target   what can answer in its place now: the page, the Pod, the backup Service
//	changes  of the standby slices, and of the fallback Pods
//	explain  one ordered list of rules: how the Service stands, and why
func Decide(s Snapshot) Plan {
	if s.Service == nil {
		return withdrawal(s)
	}
	f := factsOf(s)
	switch {
	case f.governor == nil && f.inDoubt():
		return Plan{}
	case f.governor == nil:
		return withdrawal(*f.Snapshot)
	}
	d := decisionOf(f)
	return d.plan(explain(&d))
}

// decisionOf carries out the stages between the facts and the explanation.
func decisionOf(f *facts) decision {
	d := decision{facts: f, want: choose(f)}
	d.now, d.backup, d.pod = targetOf(f, d.want)
	if d.want.excluded != "" {
		d.slices, d.pods = withdrawSlices(f.Snapshot), withdrawPods(f.Snapshot)
		return d
	}
	d.slices = changeSlices(f, d.want, d.now)
	d.pods = changePods(f, d.want, d.pod)
	return d
}

// withdrawal ends all that is ours.
func withdrawal(s Snapshot) Plan {
	s.sort()
	return Plan{Unpublish: withdrawSlices(&s).unpublish, Delete: withdrawPods(&s).remove}
}
