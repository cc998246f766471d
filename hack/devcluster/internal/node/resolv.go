//go:build linux

package node

import (
	"net/netip"
	"os"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// resolvFiles are where the machine's DNS servers are written, best first:
// systemd-resolved puts a stub on a loopback address into the usual file, which
// a Pod cannot reach, and the real servers into one of its own.
var resolvFiles = []string{"/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"}

// WriteResolvConf writes the DNS servers that Pods can use, and reports whether
// there are any.
func WriteResolvConf(state layout.State) (hasServers bool, err error) {
	var content string
	for _, file := range resolvFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if content, hasServers = reachableServers(string(text)); hasServers {
			break
		}
	}
	return hasServers, os.WriteFile(state.Path("config", "resolv.conf"), []byte(content), 0o644)
}

// reachableServers drops the servers on loopback addresses.
func reachableServers(resolvConf string) (content string, hasServers bool) {
	var kept strings.Builder
	for line := range strings.Lines(resolvConf) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "nameserver" {
			address, err := netip.ParseAddr(fields[1])
			if err != nil || address.IsLoopback() {
				continue
			}
			hasServers = true
		}
		kept.WriteString(line)
	}
	return kept.String(), hasServers
}
