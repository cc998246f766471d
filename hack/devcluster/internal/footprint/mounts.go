//go:build linux

package footprint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// Unmount unmounts everything under the state folder: volumes, container file
// systems, network namespaces.
func Unmount(state layout.State) error {
	// Mounts may be stacked on one another, so one pass may uncover more.
	const passes = 5
	for range passes {
		points, err := mountPoints(state)
		if err != nil || len(points) == 0 {
			return err
		}
		for _, point := range slices.Backward(points) {
			// Detached at once, and released as soon as it is not used any more.
			_ = unix.Unmount(point, unix.MNT_DETACH)
		}
	}
	points, err := mountPoints(state)
	if err == nil && len(points) > 0 {
		err = fmt.Errorf("cannot unmount %s (%d mounts are left in all, see /proc/self/mountinfo)", points[len(points)-1], len(points))
	}
	return err
}

func mountPoints(state layout.State) ([]string, error) {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMountInfo(string(content), string(state)), nil
}

// parseMountInfo returns the mount points under a folder, in the order in which
// they were mounted.
func parseMountInfo(mountInfo, dir string) []string {
	const mountPointField = 4 // see proc_pid_mountinfo(5)
	var points []string
	for line := range strings.Lines(mountInfo) {
		fields := strings.Fields(line)
		if len(fields) <= mountPointField {
			continue
		}
		if point := unescape(fields[mountPointField]); strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	return points
}

// unescape resolves the octal escapes that the kernel uses for blanks in paths.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if code, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(code))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
