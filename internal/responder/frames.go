package responder

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

func newFrames() *frames { return &frames{rest: lengthOfPreface} }

// count returns how many bytes are of anything but an upload, which flow control bounds.
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
