//go:build linux

package cluster

import (
	"fmt"
	"os"
	"syscall"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// lock keeps two commands from changing the cluster at once. It is on the state
// folder itself, so that there is no lock file to leave behind, and the kernel
// releases it when the process ends, however it ends.
func (c *Cluster) lock() (unlock func(), err error) {
	for {
		if err := os.MkdirAll(string(c.state), 0o755); err != nil {
			return nil, err
		}
		dir, err := os.Open(string(c.state))
		if err != nil {
			return nil, err
		}
		if syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			c.print("Another devcluster command is at work, waiting for it")
			if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
				_ = dir.Close()
				return nil, fmt.Errorf("lock %s: %w", c.state, err)
			}
		}
		// `down` removes the folder: the lock may be on one that is gone by now.
		if isSameFolder(dir, string(c.state)) {
			if err := c.claim(); err != nil {
				_ = dir.Close()
				return nil, err
			}
			return func() { _ = dir.Close() }, nil
		}
		_ = dir.Close()
	}
}

func isSameFolder(open *os.File, path string) bool {
	a, err := open.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// markerFile says that a folder is a state folder. Its content may be removed;
// that of a folder which was given by mistake may not.
const markerFile = "devcluster-state"

func (c *Cluster) claim() error {
	marker := c.state.Path(markerFile)
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	entries, err := os.ReadDir(string(c.state))
	if err != nil {
		return err
	}
	// The default folder is ours by its name, whatever has become of its content.
	if len(entries) > 0 && c.state != layout.DefaultStateDir {
		return fmt.Errorf("%s has files that are not of devcluster: choose a new or empty folder as state folder", c.state)
	}
	return os.WriteFile(marker, []byte("Everything in this folder is removed by `devcluster down`.\n"), 0o644)
}

// disclaim removes the state folder if nothing is in it any more. What else is
// there may be mounted from elsewhere, and is left alone.
func (c *Cluster) disclaim() error {
	entries, err := os.ReadDir(string(c.state))
	if err != nil || len(entries) > 1 {
		return err
	}
	if err := os.Remove(c.state.Path(markerFile)); err != nil {
		return err
	}
	return os.Remove(string(c.state))
}
