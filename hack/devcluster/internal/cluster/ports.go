//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// checkPorts refuses ports that another program listens on.
func checkPorts(ports []topology.Port) error {
	var errs []error
	for _, port := range ports {
		listener, err := net.Listen("tcp", ":"+strconv.Itoa(port.Number))
		if err != nil {
			errs = append(errs, fmt.Errorf("port %d, which %s needs, is in use by another program (who: ss -ltnp 'sport = :%d'): stop that first",
				port.Number, port.User, port.Number))
			continue
		}
		_ = listener.Close()
	}
	return errors.Join(errs...)
}
