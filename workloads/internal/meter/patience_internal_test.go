package meter

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// timeout is for a machine that is busy.
const timeout = time.Minute

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
	r.ProtoMajor = 2
	body, _, err := (&Meter{progress: progressTimeout}).awaited(http.NewResponseController(w), r)
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

// asked are frames of HTTP/2 that ask for a path, with a window for the answer and a byte of a body that does not end.
func asked(t *testing.T, path string, window uint32) []byte {
	t.Helper()
	g, text, block := NewWithT(t), &bytes.Buffer{}, &bytes.Buffer{}
	text.WriteString(http2.ClientPreface)
	framer, encoder := http2.NewFramer(text, nil), hpack.NewEncoder(block)
	g.Expect(framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})).To(Succeed())
	g.Expect(framer.WriteWindowUpdate(0, 1<<30)).To(Succeed())
	for name, value := range map[string]string{":method": "POST", ":scheme": "http", ":authority": "a", ":path": path} {
		g.Expect(encoder.WriteField(hpack.HeaderField{Name: name, Value: value})).To(Succeed())
	}
	g.Expect(framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndHeaders: true, BlockFragment: block.Bytes()})).To(Succeed())
	g.Expect(framer.WriteData(1, false, []byte("x"))).To(Succeed())
	return text.Bytes()
}

// early is an application that answers before it has read a body, with as much as there is room for.
func early(t *testing.T) net.Addr {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	app := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.ProtoMajor == 1 { // A server of net/http reads the body before it writes.
			conn, _, err := control.Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
			}
			return
		}
		_, _ = io.WriteString(w, "x")
		_ = control.Flush()
		for part := make([]byte, 32<<10); r.URL.Path == "/large"; {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	app.Config.Protocols = protocols
	app.Start()
	t.Cleanup(app.Close)
	return app.Listener.Addr()
}

func TestAClientThatStopsHoldsNothingForLong(t *testing.T) {
	fields := strings.Repeat("X: x\r\n", maxHeaderFields+1)
	for sentence, sent := range map[string]string{
		"a body of a request for which there is no memory":  "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n",
		"a body of a request that is refused":               "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n" + fields + "\r\n",
		"a body of a request that is answered before":       "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx",
		"the answers of HTTP/2, with all that it lets come": string(asked(t, "/large", 1<<30)),
		"the answers of HTTP/2, with a window of none":      string(asked(t, "/large", 0)),
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			m, traffic, client := served(t, early(t), time.Second)
			if strings.Contains(sentence, "no memory") {
				m.memory.used.Store(maxMemory)
				defer m.memory.used.Store(0)
			}
			_, err := io.WriteString(client, sent)
			g.Expect(err).NotTo(HaveOccurred())
			if strings.Contains(sentence, "answers") {
				g.Eventually(m.total.Load, timeout).Should(BeEquivalentTo(1))
			} else {
				g.Expect(client.SetDeadline(time.Now().Add(timeout))).To(Succeed())
				_, err = io.Copy(io.Discard, client)
				g.Expect(errors.Is(err, os.ErrDeadlineExceeded)).To(BeFalse(), "the connection ends")
			}
			g.Eventually(m.places.taken, timeout).Should(BeZero())
			g.Eventually(m.memory.used.Load, timeout).Should(Or(BeZero(), BeEquivalentTo(maxMemory)))
			g.Eventually(traffic.headers.Load, timeout).Should(BeZero())
		})
	}
}

// The deadline of what was read last may be long over.
func TestAnApplicationThatAnswersLateBeforeItReadsIsHeard(t *testing.T) {
	g := NewWithT(t)
	const (
		large    = 64 << 20 // More than all buffers take.
		progress = 2 * time.Second
	)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		<-time.After(progress + time.Second)
		_, _ = io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\n")
		<-time.After(time.Second) // So that it is written by itself.
		_, _ = io.WriteString(conn, "tired")
		_, _ = io.Copy(io.Discard, conn)
	}))
	t.Cleanup(app.Close)
	_, _, client := served(t, app.Listener.Addr(), progress)
	_, err := fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", large)
	g.Expect(err).NotTo(HaveOccurred())
	go func() { _, _ = client.Write(make([]byte, large)) }() // It may be cut off.
	g.Expect(client.SetReadDeadline(time.Now().Add(timeout))).To(Succeed())
	response, err := http.ReadResponse(bufio.NewReader(client), nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(io.ReadAll(response.Body)).To(BeEquivalentTo("tired"))
}

// The transport may be reading a body as its request ends.
func TestAStreamThatIsWithdrawnAfterItsAnswerEndsNoMeter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	app := early(t)
	for range 200 {
		g := NewWithT(t)
		m, _, client := served(t, app, progressTimeout)
		_, err := client.Write(asked(t, "/", 1<<16))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(client.SetDeadline(time.Now().Add(timeout))).To(Succeed())
		framer := http2.NewFramer(client, client)
		for answered := false; !answered; {
			frame, err := framer.ReadFrame()
			g.Expect(err).NotTo(HaveOccurred())
			answered = frame.Header().Type == http2.FrameHeaders
		}
		g.Expect(framer.WriteRSTStream(1, http2.ErrCodeCancel)).To(Succeed())
		g.Eventually(m.places.taken, timeout).Should(BeZero())
		_ = client.Close()
	}
}
