// Package etcd is what there is to know of etcd itself: ports, paths, versions, and what a
// quorum is. It is pure.
package etcd

import (
	"fmt"
	"regexp"
	"strconv"
)

const (
	// Container is the name of the container of a member.
	Container = "etcd"
	// PortMetrics answers the probes, without a certificate. It shows no data.
	PortMetrics int32 = 2381
	// User is the number of the user, and of the group, that a member runs as.
	User int64 = 1000
	// DataPath is where the volume is mounted. A member's data is in a folder of it.
	DataPath = "/var/lib/etcd"
	// ConfigPath is where the configuration of the members is mounted.
	ConfigPath = "/etc/etcd"
	// ServerPath is where the certificate for clients is mounted.
	ServerPath = "/etc/etcd-server"
	// PeerPath is where the certificate for other members is mounted.
	PeerPath = "/etc/etcd-peer"
	// Alive is the path of the probe that asks whether a member runs.
	Alive = "/health?serializable=true"
	// Ready is the path of the probe that asks whether clients get answers from it, which a
	// learner gives to none.
	Ready = "/readyz"
	// MaxMembers is more than a cluster of the operator ever lists.
	MaxMembers = 16
)

// Quorum is how many of a number of voters must agree.
func Quorum(voters int) int { return voters/2 + 1 }

// Version is one of etcd.
type Version struct{ Major, Minor, Patch int }

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Less reports whether a version comes before another.
func (v Version) Less(other Version) bool {
	if v.Major != other.Major {
		return v.Major < other.Major
	}
	if v.Minor != other.Minor {
		return v.Minor < other.Minor
	}
	return v.Patch < other.Patch
}

var (
	inTag   = regexp.MustCompile(`:v?([0-9]{1,4})[.]([0-9]{1,4})[.]([0-9]{1,4})([-._][-a-zA-Z0-9._]*)?(@sha256:[0-9a-f]{64})?$`)
	version = regexp.MustCompile(`^v?(\d{1,4})[.](\d{1,4})[.](\d{1,4})`)
)

// OfImage is the version that the tag of an image names, if it does.
func OfImage(image string) (Version, bool) { return parsed(inTag.FindStringSubmatch(image)) }

// Parse reads what a member says that it is.
func Parse(text string) (Version, bool) { return parsed(version.FindStringSubmatch(text)) }

func parsed(found []string) (Version, bool) {
	if found == nil {
		return Version{}, false
	}
	var numbers [3]int
	for i := range numbers {
		numbers[i], _ = strconv.Atoi(found[i+1]) // At most four digits.
	}
	return Version{numbers[0], numbers[1], numbers[2]}, true
}

// CheckUpgrade says why a cluster cannot go from one version to another; empty if it can.
func CheckUpgrade(from, to Version) string {
	const rule = "etcd goes up by one minor version at a time, and does not go back to an earlier one"
	switch {
	case from.Major == to.Major && (to.Minor == from.Minor || to.Minor == from.Minor+1):
		return ""
	case to.Less(from):
		return fmt.Sprintf("The members run etcd %s, and spec.image is %s: %s. Set spec.image to a version %d.%d or %d.%d.",
			from, to, rule, from.Major, from.Minor, from.Major, from.Minor+1)
	default:
		return fmt.Sprintf("The members run etcd %s, and spec.image is %s: %s. Set spec.image to a version %d.%d first.",
			from, to, rule, from.Major, from.Minor+1)
	}
}
