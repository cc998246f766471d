package responder

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// pair is a connection as it was accepted, and its client.
func pair(t *testing.T) (own *connection, client net.Conn) {
	t.Helper()
	g := NewWithT(t)
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	g.Expect(err).NotTo(HaveOccurred())
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = client.Close() })
	accepted, err := l.AcceptTCP()
	g.Expect(err).NotTo(HaveOccurred())
	own = &connection{stream: accepted, end: time.Now().Add(time.Hour), release: func() {}}
	t.Cleanup(func() { _ = own.Close() })
	return own, client
}

func TestNoDeadlineOutlastsTheConnection(t *testing.T) {
	for sentence, set := range map[string]func(*connection, time.Time) error{
		"for both":    (*connection).SetDeadline,
		"for reading": (*connection).SetReadDeadline,
	} {
		for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
			t.Run(sentence, func(t *testing.T) {
				g := NewWithT(t)
				own, client := pair(t)
				g.Expect(client.Close()).To(Succeed()) // Or a failure would wait for ever.
				own.end = time.Unix(1, 0)
				g.Expect(set(own, deadline)).To(Succeed())
				_, err := own.Read(make([]byte, 1))
				g.Expect(err).To(MatchError(os.ErrDeadlineExceeded))
			})
		}
	}
	t.Run("for writing", func(t *testing.T) {
		g := NewWithT(t)
		own, _ := pair(t)
		own.end = time.Unix(1, 0)
		g.Expect(own.SetWriteDeadline(time.Time{})).To(Succeed())
		_, err := own.Write([]byte("x"))
		g.Expect(err).To(MatchError(os.ErrDeadlineExceeded))
	})
}

func TestWhatWasLookedAtIsReadAgain(t *testing.T) {
	for sentence, read := range map[string]func(*connection) (string, error){
		"by reading": func(c *connection) (string, error) {
			text, err := io.ReadAll(struct{ io.Reader }{c})
			return string(text), err
		},
		"by copying": func(c *connection) (string, error) {
			var text []byte
			_, err := io.Copy(writer(func(part []byte) { text = append(text, part...) }), c)
			return string(text), err
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			own, client := pair(t)
			own.first = []byte("GET ")
			_, err := io.WriteString(client, "/ HTTP/1.1")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(client.Close()).To(Succeed())
			g.Expect(read(own)).To(Equal("GET / HTTP/1.1"))
		})
	}
}

type writer func([]byte)

func (w writer) Write(part []byte) (int, error) {
	w(part)
	return len(part), nil
}

func TestAPlaceIsGivenBackOnce(t *testing.T) {
	g := NewWithT(t)
	own, _ := pair(t)
	released := 0
	own.release = func() { released++ }
	g.Expect(own.Close()).To(Succeed())
	g.Expect(own.Close()).To(Succeed())
	g.Expect(released).To(Equal(1))
}
