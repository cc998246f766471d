//go:build linux

package cluster

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// checkPorts refuses ports that another program listens on.
func checkPorts(ports []topology.Port) error {
	var taken []string
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port.Number))
		if err != nil {
			taken = append(taken, fmt.Sprintf("%d (for %s)", port.Number, port.User))
			continue
		}
		_ = listener.Close()
	}
	if len(taken) == 0 {
		return nil
	}
	return fmt.Errorf("other programs use ports that the cluster needs: %s; find them with `ss -ltnp` and stop them", strings.Join(taken, ", "))
}
