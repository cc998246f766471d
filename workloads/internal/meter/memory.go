package meter

import (
	"net/http"
	"sync"
	"sync/atomic"
)

// ofField is what a field of a header takes beside its bytes.
const ofField = 100

// budget bounds what requests take of memory, in bytes.
type budget struct{ used atomic.Int64 }

// take takes so much, if there is as much.
func (b *budget) take(size int64) bool {
	if b.used.Add(size) <= maxMemory {
		return true
	}
	b.leave(size)
	return false
}

func (b *budget) leave(size int64) { b.used.Add(-size) }

// cost is what a request takes, in bytes, beside the buffers of who has a place: its goroutine, its address, which is kept as it came
// and parsed, and its header, of which a proxy has a map of its own.
func cost(r *http.Request) int64 {
	const ofRequest = 8 << 10
	size := int64(ofRequest + 2*len(r.RequestURI) + len(r.Host))
	for name, values := range r.Header {
		for _, value := range values {
			size += int64(len(name) + len(value) + ofField)
		}
	}
	return size
}

// answerBuffer is that of an answer that passes, in bytes.
const answerBuffer = 32 << 10

// buffers are those of answers.
type buffers struct{ free sync.Pool }

func newBuffers() *buffers {
	return &buffers{free: sync.Pool{New: func() any { return new([answerBuffer]byte) }}}
}

// Get implements httputil.BufferPool.
func (b *buffers) Get() []byte { return b.free.Get().(*[answerBuffer]byte)[:] }

// Put implements httputil.BufferPool.
func (b *buffers) Put(buffer []byte) { b.free.Put((*[answerBuffer]byte)(buffer)) }
