package connections

import (
	"errors"
	"sync"
	"sync/atomic"
)

// The bounds of a backlog, in bytes. A PING has 17, and an answer that is kept for it takes some 100 of memory.
const (
	// mostOfOne is what a client may have in any case: more than those that take their answers send meanwhile.
	mostOfOne = 4 << 10
	// mostOfAll is what one client may have as long as all others have little.
	mostOfAll = 1 << 20
)

// ErrBacklog is why a connection is cut off.
var ErrBacklog = errors.New("the client sends more and takes no answer")

// Backlogs are those of all clients of HTTP/2 of a server. The zero value is for one that begins.
type Backlogs struct{ bytes atomic.Int64 }

// Backlog is what a client of HTTP/2 sends while an answer waits for it to read, uploads apart, which flow control bounds. A server
// of net/http goes on reading then, and keeps what it has to say to each frame, up to 10,000 times for each connection.
type Backlog struct {
	all *Backlogs

	mu        sync.Mutex
	frames    frames
	isWriting bool
	bytes     int64
}

// Begin is for a client that has sent nothing yet.
func (b *Backlogs) Begin() *Backlog { return &Backlog{all: b, frames: newFrames()} }

// Received follows what comes next. It fails if the client has sent too much: it is to be cut off then.
func (b *Backlog) Received(part []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	sent := b.frames.count(part)
	if !b.isWriting {
		return nil
	}
	b.bytes += sent
	if all := b.all.bytes.Add(sent); all > mostOfAll && b.bytes > mostOfOne {
		return ErrBacklog
	}
	return nil
}

// Write writes part of an answer, with what is counted meanwhile.
func (b *Backlog) Write(write func([]byte) (int, error), part []byte) (int, error) {
	b.wait(true)
	defer b.wait(false)
	return write(part)
}

func (b *Backlog) wait(isWriting bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all.bytes.Add(-b.bytes)
	b.isWriting, b.bytes = isWriting, 0
}

// frames follows the frames of HTTP/2 that a client sends (RFC 9113, 4.1), from its preface on.
type frames struct {
	// header is that of the frame which begins, of which so many bytes have come.
	header [9]byte
	came   int
	// rest is how many bytes of the frame, or of the preface, are still to come, and isData whether it is of an upload.
	rest   int
	isData bool
}

// lengthOfPreface is how many bytes a client sends before its first frame (RFC 9113, 3.4).
const lengthOfPreface = 24

// typeOfData is that of the frames of an upload (RFC 9113, 6.1).
const typeOfData = 0

func newFrames() frames { return frames{rest: lengthOfPreface} }

// count returns how many bytes are of anything but an upload.
func (f *frames) count(part []byte) (other int64) {
	for len(part) > 0 {
		var n int
		if f.rest > 0 {
			n = min(f.rest, len(part))
			f.rest -= n
		} else {
			n = copy(f.header[f.came:], part)
			f.came += n
		}
		if f.came > 0 || !f.isData {
			other += int64(n)
		}
		part = part[n:]
		if f.came == len(f.header) {
			f.came, f.rest = 0, int(f.header[0])<<16|int(f.header[1])<<8|int(f.header[2])
			f.isData = f.header[3] == typeOfData
		}
	}
	return other
}
