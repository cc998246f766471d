package serving

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// ordinary is how many bytes a body may have that needs no room among the large ones:
// a CriticalService has a few thousand. Run bounds how many such bodies there are.
const ordinary = 64 << 10

// bodies bounds how much of all large bodies is in memory at the same time.
type bodies struct {
	most  int64
	mutex sync.Mutex
	held  int64
	// large are the bodies that have room, the oldest first.
	large []*body
}

// body counts what is read of the body of a request.
type body struct {
	from io.Reader
	all  *bodies
	// interrupt ends what waits for the client.
	interrupt func()
	// The mutex of all guards what follows: how many bytes were read, whether the
	// client is waited for, which may take as long as it likes, and whether the body
	// had to make room.
	bytes             int64
	awaits, displaced bool
}

// add begins with the body of a request, which its client still sends.
func (l *bodies) add(w http.ResponseWriter, from io.Reader) *body {
	return &body{from: from, all: l, awaits: true, interrupt: func() {
		control, past := http.NewResponseController(w), time.Unix(1, 0)
		_ = control.SetReadDeadline(past)
		_ = control.SetWriteDeadline(past)
	}}
}

// Read reads a piece, if there is room for it.
func (b *body) Read(into []byte) (int, error) {
	read, err := b.from.Read(into)
	if !b.all.grow(b, int64(read)) {
		return 0, errBusy
	}
	return read, err
}

// grow reports whether a body has room for more bytes.
func (l *bodies) grow(b *body, bytes int64) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if b.displaced {
		return false
	}
	more := bytes
	if b.bytes <= ordinary {
		more += b.bytes
	}
	if b.bytes+bytes > ordinary {
		for l.held+more > l.most {
			if !l.displace(b) {
				return false
			}
		}
		if b.bytes <= ordinary {
			l.large = append(l.large, b)
		}
		l.held += more
	}
	b.bytes += bytes
	return true
}

// displace makes room for another body: the oldest one whose client is waited for
// goes. The API server is near, and sends a body within milliseconds.
func (l *bodies) displace(other *body) bool {
	oldest := slices.IndexFunc(l.large, func(b *body) bool { return b != other && b.awaits })
	if oldest < 0 {
		return false
	}
	displaced := l.large[oldest]
	displaced.displaced = true
	l.remove(displaced)
	displaced.interrupt()
	return true
}

func (l *bodies) remove(b *body) {
	if i := slices.Index(l.large, b); i >= 0 {
		l.large = slices.Delete(l.large, i, i+1)
		l.held -= b.bytes
	}
}

// await says whether the client is waited for.
func (b *body) await(client bool) {
	b.all.mutex.Lock()
	defer b.all.mutex.Unlock()
	b.awaits = client
}

func (b *body) release() {
	b.all.mutex.Lock()
	defer b.all.mutex.Unlock()
	b.all.remove(b)
}
