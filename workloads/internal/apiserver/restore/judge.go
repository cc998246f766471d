package restore

import (
	"io"
	"sync"

	"github.com/critical-service/operator/internal/etcd/snapshot"
)

// judge reads a snapshot and says at its end whether it is whole: who reads gets an error instead of
// the end of one that is not. What cannot become whole any more is not read on.
type judge struct {
	from    io.Reader
	checker *snapshot.Checker

	// Who reads may still do so when its caller has given up.
	mu    sync.Mutex
	whole bool
	err   error
}

func (j *judge) Read(p []byte) (int, error) {
	read, err := j.from.Read(p)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return 0, j.err
	}
	j.checker.Write(p[:read]) //nolint:errcheck // It never fails.
	size, total := j.checker.Size(), j.checker.Total()
	if err == io.EOF || size >= snapshot.HeaderSize && size > total {
		j.err = j.checker.Verdict()
		j.whole = j.err == nil
	} else {
		j.err = err
	}
	if j.err != nil {
		return 0, j.err
	}
	return read, err
}

// result is how much was read, whether that was all, and otherwise why not; nil if what was read was
// good so far.
func (j *judge) result() (passed int64, whole bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.checker.Size(), j.whole, j.err
}
