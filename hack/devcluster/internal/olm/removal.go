package olm

import "strings"

// Labels select what OLM makes for an operator. It writes the one or the other.
func Labels() []string { return []string{"olm.owner", "olm.managed=true"} }

const group = ".operators.coreos.com"

// RemovalOrder lists OLM's kinds as they have to go: first what makes OLM install
// something, then what was installed, then what OLM keeps for itself. Kinds of one
// line go together.
func RemovalOrder() []string {
	return []string{
		"subscriptions" + group + ",catalogsources" + group + ",installplans" + group,
		"clusterserviceversions" + group,
		"operatorgroups" + group + ",operatorconditions" + group,
		"operators" + group,
	}
}

// Traces picks the cluster roles that OLM made for OperatorGroups, which carry no
// label and stay when their group has gone.
func Traces(names []string) []string {
	var traces []string
	for _, name := range names {
		_, object, _ := strings.Cut(name, "/")
		if strings.HasPrefix(object, "olm.og.") {
			traces = append(traces, name)
		}
	}
	return traces
}
