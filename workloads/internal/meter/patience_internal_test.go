package meter

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// timed is a response that knows the deadline of the body, and a body that notes in which it was read.
type timed struct {
	*httptest.ResponseRecorder
	deadline time.Time
	read     []time.Time
}

func (t *timed) SetReadDeadline(deadline time.Time) error {
	t.deadline = deadline
	return nil
}

func (t *timed) Read(into []byte) (int, error) {
	t.read = append(t.read, t.deadline)
	return len(into), nil
}

// An application that reads slowly takes none of the client's time.
func TestTheDeadlineOfABodyIsThatOfEachRead(t *testing.T) {
	g, w, began := NewWithT(t), &timed{}, time.Now()
	r := httptest.NewRequest(http.MethodPost, "/", io.LimitReader(w, 3*firstRead))
	body, err := awaited(http.NewResponseController(w), r)
	g.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		_, err := io.ReadFull(body, make([]byte, firstRead))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.deadline.IsZero()).To(BeTrue(), "the application may take as long as it likes")
	}
	g.Expect(w.read).To(HaveLen(3))
	for i, patience := range []time.Duration{bodyTimeout, progressTimeout, progressTimeout} {
		g.Expect(w.read[i]).To(And(BeTemporally(">=", began.Add(patience)), BeTemporally("<=", time.Now().Add(patience))))
	}
}
