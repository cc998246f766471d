//go:build unix

package build

import (
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps two builds in one checkout from doing the same work twice. The
// kernel releases it when the process ends, however it ends.
func (b *Builder) lock() (unlock func(), err error) {
	dir := filepath.Join(b.repo.Bin(), "k8s")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		b.progress.Done("another build is running in this checkout, waiting for it")
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			_ = f.Close()
			return nil, err
		}
	}
	return func() { _ = f.Close() }, nil
}
