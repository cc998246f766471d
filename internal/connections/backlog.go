package connections

import (
	"errors"
	"sync"
	"sync/atomic"
)

// ofFrame is how many bytes of answers a client has to take for each frame that it sends meanwhile: as many as the answer to a PING
// has (RFC 9113, 6.7), the longest of those that only the number of frames bounds. One that is kept takes some 100 of memory.
const ofFrame = 17

// The bounds of a backlog, in bytes of answers.
const (
	// mostOfOne is what a client may have in any case: more than those that take their answers.
	mostOfOne = 4 << 10
	// mostOfAll is what one client may have as long as all others have little.
	mostOfAll = 1 << 20
)

// ErrBacklog is why a connection is cut off.
var ErrBacklog = errors.New("the client sends more and takes no answer")

// Backlogs are those of all clients of HTTP/2 of a server. The zero value is for one that begins.
type Backlogs struct{ bytes atomic.Int64 }

// Backlog is what a client of HTTP/2 has to take of answers, for what it sends while an answer waits for it to read. A server of
// net/http goes on reading then, and keeps what it has to say to each frame, up to 10,000 times for each connection.
type Backlog struct {
	mu        sync.Mutex
	all       *Backlogs
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
	frames := b.frames.count(part)
	if !b.isWriting {
		return nil
	}
	if all := b.add(frames * ofFrame); all > mostOfAll && b.bytes > mostOfOne {
		return ErrBacklog
	}
	return nil
}

// Write writes part of an answer.
func (b *Backlog) Write(write func([]byte) (int, error), part []byte) (int, error) {
	b.writes(true, 0)
	n, err := write(part)
	b.writes(false, int64(n))
	return n, err
}

// End is for a client whose connection is closed.
func (b *Backlog) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(-b.bytes)
	b.all = &Backlogs{} // A Read or Write that has yet to end counts nowhere.
}

// writes says whether a Write is under way, and how many bytes the client has taken by one.
func (b *Backlog) writes(isWriting bool, taken int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.isWriting = isWriting
	b.add(-min(taken, b.bytes))
}

func (b *Backlog) add(bytes int64) (all int64) {
	b.bytes += bytes
	return b.all.bytes.Add(bytes)
}

// frames follows the frames of HTTP/2 that a client sends (RFC 9113, 4.1), from its preface on.
type frames struct {
	// header is that of the frame which begins, of which so many bytes have come.
	header [9]byte
	came   int
	// rest is how many bytes of the frame, or of the preface, are still to come.
	rest int
}

// lengthOfPreface is how many bytes a client sends before its first frame (RFC 9113, 3.4).
const lengthOfPreface = 24

func newFrames() frames { return frames{rest: lengthOfPreface} }

// count returns how many frames begin.
func (f *frames) count(part []byte) (begun int64) {
	for len(part) > 0 {
		if f.rest > 0 {
			n := min(f.rest, len(part))
			f.rest, part = f.rest-n, part[n:]
			continue
		}
		n := copy(f.header[f.came:], part)
		f.came, part = f.came+n, part[n:]
		if f.came == len(f.header) {
			f.came, f.rest = 0, int(f.header[0])<<16|int(f.header[1])<<8|int(f.header[2])
			begun++
		}
	}
	return begun
}
