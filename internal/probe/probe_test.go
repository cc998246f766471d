package probe_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/grpc"

	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/probe"
	"github.com/critical-service/operator/test/ports"
)

func TestServersThatAnswer(t *testing.T) {
	tests := map[string]struct {
		protocol appprotocol.Protocol
		server   func(t *testing.T) string
		want     string
	}{
		"a page":                               {appprotocol.HTTP, site(respond(200, "Welcome")), "200"},
		"an error of HTTP":                     {appprotocol.HTTP, site(respond(500, "")), "500"},
		"a redirection, which is not followed": {appprotocol.HTTP, site(http.RedirectHandler("http://192.0.2.1/", http.StatusFound).ServeHTTP), "302"},
		"a page that never ends":               {appprotocol.HTTP, site(endless), "200"},
		"a page over HTTP/2":                   {appprotocol.H2C, site(respond(404, "Nothing here")), "404"},
		"a server of gRPC":                     {appprotocol.GRPC, grpcServer, "UNIMPLEMENTED"},
		"a code of gRPC without a name":        {appprotocol.GRPC, site(grpcStatus("77")), "77"},
		"PostgreSQL that asks for a password":  {appprotocol.PostgreSQL, raw(hearing("R\x00\x00\x00\x08\x00\x00\x00\x03")), "authentication requested"},
		"PostgreSQL that knows us not":         {appprotocol.PostgreSQL, raw(hearing("E\x00\x00\x00\x13SFATAL\x00C28000\x00\x00")), "28000"},
		"MySQL that greets":                    {appprotocol.MySQL, raw(saying("\x07\x00\x00\x00\x0a8.4.0\x00")), "greeting"},
		"MySQL that is full":                   {appprotocol.MySQL, raw(saying("\x17\x00\x00\x00\xff\x10\x04Too many connections")), "1040"},
		"Redis that is well":                   {appprotocol.Redis, raw(hearing("$26\r\ncritical-service-self-test\r\n")), "PONG"},
		"an old Redis":                         {appprotocol.Redis, raw(hearing("+PONG\r\n")), "PONG"},
		"Redis that wants a password":          {appprotocol.Redis, raw(hearing("-NOAUTH Authentication required.\r\n")), "NOAUTH"},
		"MongoDB that is well":                 {appprotocol.MongoDB, raw(hearing(mongoDBHeader(38) + "\x11\x00\x00\x00\x01ok\x00\x00\x00\x00\x00\x00\x00\xf0\x3f\x00")), "hello"},
		"an old MongoDB": {
			appprotocol.MongoDB,
			raw(hearing(mongoDBHeader(68) + "\x2f\x00\x00\x00\x01ok\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02codeName\x00\x10\x00\x00\x00CommandNotFound\x00\x00")),
			"CommandNotFound",
		},
		"TLS, with any certificate":     {appprotocol.TLS, tlsServer, "TLS 1.3"},
		"one that waits for the client": {appprotocol.TCP, raw(saying("")), "connection accepted"},
		"one that speaks first":         {appprotocol.TCP, raw(saying("220 mail\r\n")), "connection accepted"},
		"one that closes politely":      {appprotocol.TCP, raw(func(*net.TCPConn) {}), "connection accepted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			result := probe.Ask(t.Context(), probe.Target{Address: test.server(t), Protocol: test.protocol})
			g.Expect(result.Problem).To(BeEmpty())
			g.Expect(result.Answered).To(BeTrue())
			g.Expect(result.Status).To(Equal(test.want))
		})
	}
}

func TestServersThatDoNotAnswer(t *testing.T) {
	const silence, closed = "accepted the connection on ADDRESS and said nothing for 3s", "accepted the connection on ADDRESS and closed it without an answer"
	const reset = "accepted the connection on ADDRESS and reset it without an answer"
	tests := map[string]struct {
		protocols []appprotocol.Protocol
		server    func(t *testing.T) string
		failure   probe.Failure
		want      string
	}{
		"nothing listens": {appprotocol.All, func(t *testing.T) string { return ports.Free(t) }, probe.Refused, "refused the connection on ADDRESS: nothing listens there"},
		"it says nothing": {
			[]appprotocol.Protocol{appprotocol.HTTP, appprotocol.H2C, appprotocol.GRPC, appprotocol.PostgreSQL, appprotocol.MySQL, appprotocol.Redis, appprotocol.MongoDB, appprotocol.TLS}, raw(saying("")), probe.Silent, silence,
		},
		"it hangs up on us": {
			[]appprotocol.Protocol{appprotocol.HTTP, appprotocol.H2C, appprotocol.GRPC, appprotocol.PostgreSQL, appprotocol.Redis, appprotocol.MongoDB, appprotocol.TLS}, raw(hearing("")), probe.Closed, closed,
		},
		"it hangs up at once":         {[]appprotocol.Protocol{appprotocol.MySQL}, raw(func(*net.TCPConn) {}), probe.Closed, closed},
		"it resets":                   {[]appprotocol.Protocol{appprotocol.HTTP, appprotocol.PostgreSQL, appprotocol.Redis}, raw(resetting), probe.Reset, reset},
		"it resets every connection":  {[]appprotocol.Protocol{appprotocol.TCP, appprotocol.MySQL}, raw(func(c *net.TCPConn) { _ = c.SetLinger(0) }), probe.Reset, reset},
		"a database where a page was": {[]appprotocol.Protocol{appprotocol.HTTP}, raw(hearing("-ERR unknown command\r\n")), probe.Foreign, `answered on ADDRESS, but not in http: it said "-ERR unknown command"`},
		"HTTP/1.1 where HTTP/2 was": {
			[]appprotocol.Protocol{appprotocol.H2C}, raw(hearing("HTTP/1.1 400 Bad Request\r\n\r\n")), probe.Foreign, `answered on ADDRESS, but not in h2c: it said "HTTP/1.1 400 Bad Request"`,
		},
		"a page where gRPC was": {[]appprotocol.Protocol{appprotocol.GRPC}, site(respond(404, "")), probe.Malformed, "answered on ADDRESS, but not as grpc wants it: HTTP status 404 and no grpc-status"},
		"a page where a database was": {
			[]appprotocol.Protocol{appprotocol.PostgreSQL}, raw(hearing("HTTP/1.1 400 Bad Request\r\nDate: Sat, 21 Nov 2026 19:44:46 GMT\r\n\r\n")),
			probe.Foreign, `answered on ADDRESS, but not in postgresql: it said "HTTP/1.1 400 Bad Request"`,
		},
		"a mail server where MySQL was": {[]appprotocol.Protocol{appprotocol.MySQL}, raw(saying("220 mail\r\n")), probe.Foreign, `answered on ADDRESS, but not in mysql: it said "220 mail"`},
		"a greeting that is no text":    {[]appprotocol.Protocol{appprotocol.Redis}, raw(hearing("\x0a8.4.0\x00salt")), probe.Foreign, "answered on ADDRESS, but not in redis: it said something that is no text"},
		"a page where Redis was":        {[]appprotocol.Protocol{appprotocol.Redis}, raw(hearing("HTTP/1.1 400\r\n")), probe.Foreign, `answered on ADDRESS, but not in redis: it said "HTTP/1.1 400"`},
		"a page where MongoDB was":      {[]appprotocol.Protocol{appprotocol.MongoDB}, raw(hearing("HTTP/1.0 200 OK\r\n")), probe.Foreign, `answered on ADDRESS, but not in mongodb: it said "HTTP/1.0 200 OK"`},
		"MySQL where MongoDB was": {
			[]appprotocol.Protocol{appprotocol.MongoDB}, raw(saying("\x0a\x00\x00\x00\x0a8.4.0\x00" + strings.Repeat("s", 70))),
			probe.Foreign, "answered on ADDRESS, but not in mongodb: it said something that is no text",
		},
		"an endless answer of MongoDB": {
			[]appprotocol.Protocol{appprotocol.MongoDB}, raw(hearing(mongoDBHeader(65535))), probe.Malformed, "answered on ADDRESS, but not as mongodb wants it: a message of 65535 bytes",
		},
		"an answer of MongoDB that says nothing": {
			[]appprotocol.Protocol{appprotocol.MongoDB}, raw(hearing(mongoDBHeader(26) + "\x05\x00\x00\x00\x00")),
			probe.Malformed, "answered on ADDRESS, but not as mongodb wants it: neither a success nor a failure",
		},
		"a page where TLS was": {[]appprotocol.Protocol{appprotocol.TLS}, raw(hearing("HTTP/1.0 400\r\n")), probe.Foreign, `answered on ADDRESS, but not in tls: it said "HTTP/1.0 400"`},
		"a page that is cut off": {
			[]appprotocol.Protocol{appprotocol.HTTP}, raw(hearing("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nWel")), probe.Closed, "accepted the connection on ADDRESS and closed it in the middle of its answer",
		},
		"a page that stalls": {
			[]appprotocol.Protocol{appprotocol.HTTP}, raw(stalling("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nWel")), probe.Unfinished, "began to answer on ADDRESS and had not finished after 3s",
		},
		"a status that is none": {
			[]appprotocol.Protocol{appprotocol.HTTP}, raw(hearing("HTTP/1.1 OK\r\n\r\n")), probe.Malformed, `answered on ADDRESS, but not as http wants it: malformed HTTP status code "OK"`,
		},
		"an endless header": {
			[]appprotocol.Protocol{appprotocol.HTTP}, raw(hearing("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<21))),
			probe.Malformed, "answered on ADDRESS, but not as http wants it: net/http: server response headers exceeded 65536 bytes; aborted",
		},
		"an endless error of PostgreSQL": {
			[]appprotocol.Protocol{appprotocol.PostgreSQL}, raw(hearing("E\x00\x00\xff\xffS")), probe.Malformed, "answered on ADDRESS, but not as postgresql wants it: a message of 65531 bytes",
		},
		"an endless packet of MySQL": {
			[]appprotocol.Protocol{appprotocol.MySQL}, raw(saying("\xff\xff\x00\x00\x0a")), probe.Malformed, "answered on ADDRESS, but not as mysql wants it: a packet of 65535 bytes",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			address := test.server(t)
			results := make([]probe.Result, len(test.protocols))
			var asking sync.WaitGroup
			for i, protocol := range test.protocols {
				asking.Go(func() { results[i] = probe.Ask(t.Context(), probe.Target{Address: address, Protocol: protocol}) })
			}
			asking.Wait()
			for _, result := range results {
				g.Expect(result.Failure).To(Equal(test.failure), "%s", result.Protocol)
				g.Expect(result.Problem).To(Equal(strings.ReplaceAll(test.want, "ADDRESS", address)), "%s", result.Protocol)
				g.Expect(result.Answered).To(BeFalse())
				g.Expect(result.Status).To(BeEmpty())
			}
		})
	}
}

func TestAQuestionIsGivenUp(t *testing.T) {
	given, cancel := context.WithCancel(t.Context())
	cancel()
	t.Run("before it is asked", func(t *testing.T) {
		result := probe.Ask(given, probe.Target{Address: "192.0.2.1:80", Protocol: appprotocol.HTTP})
		NewWithT(t).Expect(result.Problem).To(Equal("had not accepted the connection on 192.0.2.1:80 when the question was given up"))
	})
	t.Run("while the server thinks", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		address := serve(t, func(conn *net.TCPConn) {
			_, _ = conn.Read(make([]byte, 1))
			cancel()
			_, _ = io.Copy(io.Discard, conn)
		})
		result := probe.Ask(ctx, probe.Target{Address: address, Protocol: appprotocol.Redis})
		NewWithT(t).Expect(result.Problem).To(Equal("had not answered on " + address + " when the question was given up"))
	})
}

func TestTheWayToAServerIsTheCallers(t *testing.T) {
	g := NewWithT(t)
	// A pipe has no deadlines to speak of, as a port-forward.
	dial := func(_ context.Context, network, address string) (net.Conn, error) {
		g.Expect(network + " " + address).To(Equal("tcp 10.0.0.3:6379"))
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			_, _ = theirs.Read(make([]byte, 4096))
			_, _ = io.WriteString(theirs, "+PONG\r\n")
		}()
		return ours, nil
	}
	result := probe.Ask(t.Context(), probe.Target{Address: "10.0.0.3:6379", Protocol: appprotocol.Redis, Dial: dial})
	g.Expect(result.Problem).To(BeEmpty())
	g.Expect(result.Status).To(Equal("PONG"))

	never := func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	result = probe.Ask(t.Context(), probe.Target{Address: "10.0.0.3:80", Protocol: appprotocol.HTTP, Dial: never})
	g.Expect(result.Problem).To(Equal("did not accept a connection on 10.0.0.3:80 within 3s"))

	broken := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route to host")}
	}
	result = probe.Ask(t.Context(), probe.Target{Address: "10.0.0.3:80", Dial: broken})
	g.Expect(result.Problem).To(Equal("cannot be reached on 10.0.0.3:80: no route to host"))
	g.Expect(result.Protocol).To(Equal(appprotocol.TCP), "which is what holds if nothing is said")
}

func TestTheServerLearnsWhoAsksAndForWhom(t *testing.T) {
	g := NewWithT(t)
	heard := make(chan *http.Request, 1)
	address := site(func(_ http.ResponseWriter, r *http.Request) { heard <- r })(t)
	g.Expect(probe.Ask(t.Context(), probe.Target{Address: address, Protocol: appprotocol.HTTP, Host: "shop.default.svc"}).Problem).To(BeEmpty())
	request := <-heard
	g.Expect(request.Host).To(Equal("shop.default.svc"))
	g.Expect(request.UserAgent()).To(Equal("critical-service-self-test/dev"))
	g.Expect(request.Header.Get("Accept")).To(Equal("text/html"))
	g.Expect(request.Method + request.URL.Path).To(Equal("GET/"))
}

// mongoDBHeader begins an OP_MSG of so many bytes, before its document.
func mongoDBHeader(length uint16) string {
	return string(binary.LittleEndian.AppendUint16(nil, length)) + "\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00\x00"
}

// raw is a server of bytes.
func raw(handle func(*net.TCPConn)) func(*testing.T) string {
	return func(t *testing.T) string { return serve(t, handle) }
}

// site is a server of HTTP/1.1 and of HTTP/2 without TLS.
func site(handle http.HandlerFunc) func(*testing.T) string {
	return func(t *testing.T) string {
		server := httptest.NewUnstartedServer(handle)
		server.Config.Protocols = &http.Protocols{}
		server.Config.Protocols.SetHTTP1(true)
		server.Config.Protocols.SetUnencryptedHTTP2(true)
		server.Start()
		t.Cleanup(server.Close)
		return server.Listener.Addr().String()
	}
}

func respond(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	chunk := make([]byte, 32<<10)
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

func grpcStatus(status string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", status)
	}
}

func grpcServer(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	server := grpc.NewServer()
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return l.Addr().String()
}

func tlsServer(t *testing.T) string {
	server := httptest.NewUnstartedServer(respond(200, ""))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
