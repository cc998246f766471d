package meter_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/workloads/internal/meter"
	"github.com/critical-service/operator/workloads/internal/metering"
)

// world is a meter that runs in front of an application.
type world struct {
	*WithT
	traffic, metrics string
	// stop asks it to end, and ended gets how it did.
	stop  context.CancelFunc
	ended chan error
}

func newWorld(t *testing.T, app http.Handler) *world {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(app)
	server.Config.Protocols = protocols
	server.Start()
	t.Cleanup(server.Close)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &world{WithT: NewWithT(t), traffic: ports.Free(t), metrics: ports.Free(t), stop: stop, ended: make(chan error, 1)}
	m := meter.New(meter.Options{Listen: w.traffic, Metrics: w.metrics, App: server.Listener.Addr().String(), Log: slog.New(slog.DiscardHandler)})
	go func() { w.ended <- m.Run(ctx) }()
	t.Cleanup(stop)
	w.Eventually(func() (int, error) { return status(w.metrics, metering.ReadyPath) }).Should(Equal(http.StatusOK))
	return w
}

func status(address, path string) (int, error) {
	response, err := http.Get("http://" + address + path)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

// says is what the metrics say.
func (w *world) says() string {
	response, err := http.Get("http://" + w.metrics + metering.MetricsPath)
	w.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	w.Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func TestRequestsAreCountedAndPassUnchanged(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		rw.Header().Set("X-Seen", fmt.Sprintf("%s %s %s %s", r.Method, r.Host, r.URL.RequestURI(), r.Header.Get("X-Forwarded-For")))
		rw.WriteHeader(http.StatusTeapot)
		_, _ = rw.Write(body)
	}))
	for range 3 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.traffic+"/a%2Fb?x=1;y", strings.NewReader("hello"))
		w.Expect(err).NotTo(HaveOccurred())
		request.Host = "shop.example.com"
		request.Header.Set("X-Forwarded-For", "192.0.2.1")
		response, err := http.DefaultClient.Do(request)
		w.Expect(err).NotTo(HaveOccurred())
		body, err := io.ReadAll(response.Body)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(response.Body.Close()).To(Succeed())
		w.Expect(response.StatusCode).To(Equal(http.StatusTeapot))
		w.Expect(string(body)).To(Equal("hello"))
		w.Expect(response.Header.Get("X-Seen")).To(Equal("POST shop.example.com /a%2Fb?x=1;y 192.0.2.1, 127.0.0.1"))
	}
	// A client has the whole answer before the meter has ended its request.
	w.Eventually(w.says).Should(And(ContainSubstring(metering.MetricRequests+" 3\n"), ContainSubstring(metering.MetricInFlight+" 0\n")))
}

func TestHTTP2ReachesTheApplicationAsSuchWithTrailers(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Trailer", "Grpc-Status")
		if r.ProtoMajor == 2 {
			_, _ = io.WriteString(rw, "HTTP/2.0")
		}
		rw.Header().Set("Grpc-Status", "0")
	}))
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	client := http.Client{Transport: &http.Transport{Protocols: protocols}}
	response, err := client.Get("http://" + w.traffic)
	w.Expect(err).NotTo(HaveOccurred())
	body, err := io.ReadAll(response.Body)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(response.Body.Close()).To(Succeed())
	w.Expect(string(body)).To(Equal("HTTP/2.0"))
	w.Expect(response.Trailer.Get("Grpc-Status")).To(Equal("0"))
}

// An ingress may have one connection to a Pod.
func TestOneConnectionCarriesManyRequestsAtOnce(t *testing.T) {
	const atOnce = 64
	var entered atomic.Int64
	all := make(chan struct{})
	w := newWorld(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/together" {
			return
		}
		if entered.Add(1) == atOnce {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		}
	}))
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	var connections atomic.Int64
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		Protocols: protocols,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			connections.Add(1)
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	get := func(path string) (int, error) {
		response, err := client.Get("http://" + w.traffic + path)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	w.Expect(get("/first")).To(Equal(http.StatusOK))
	var together errgroup.Group
	for range atOnce {
		together.Go(func() error {
			code, err := get("/together")
			if err == nil && code != http.StatusOK {
				err = fmt.Errorf("the answer is %d", code)
			}
			return err
		})
	}
	w.Expect(together.Wait()).To(Succeed())
	w.Expect(connections.Load()).To(Equal(int64(1)))
}

func TestAnUpgradedConnectionHoldsAPlace(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		connection, buffered, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = buffered.Flush()
		_, _ = io.Copy(connection, buffered)
	}))
	connection, err := net.Dial("tcp", w.traffic)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = io.WriteString(connection, "GET / HTTP/1.1\r\nHost: shop\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	w.Expect(err).NotTo(HaveOccurred())
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(response.StatusCode).To(Equal(http.StatusSwitchingProtocols))
	_, err = io.WriteString(connection, "ping\n")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(reader.ReadString('\n')).To(Equal("ping\n"))
	w.Expect(w.says()).To(ContainSubstring(metering.MetricInFlight + " 1\n"))
	w.Expect(connection.Close()).To(Succeed())
	w.Eventually(w.says).Should(ContainSubstring(metering.MetricInFlight + " 0\n"))
}

func TestWhatIsUnderWayEndsWell(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-release
		_, _ = io.WriteString(rw, "done")
	}))
	answer := make(chan string, 1)
	go func() {
		response, err := http.Get("http://" + w.traffic)
		if err != nil {
			answer <- err.Error()
			return
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		answer <- string(body)
	}()
	<-entered
	w.stop()
	w.Eventually(func() error {
		connection, err := net.Dial("tcp", w.traffic)
		if err != nil {
			return err
		}
		return connection.Close() // One that is new and open would delay the end by seconds.
	}).Should(HaveOccurred(), "nothing new is taken")
	w.Expect(w.ended).NotTo(Receive())
	close(release)
	w.Eventually(answer).Should(Receive(Equal("done")))
	w.Eventually(w.ended).Should(Receive(BeNil()))
}

func TestABodyThatDoesNotComeHoldsNoPlace(t *testing.T) {
	w := newWorld(t, http.NotFoundHandler())
	connection, err := net.Dial("tcp", w.traffic)
	w.Expect(err).NotTo(HaveOccurred())
	_, err = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: 5\r\n\r\n")
	w.Expect(err).NotTo(HaveOccurred())
	w.Consistently(w.says).WithTimeout(time.Second).Should(ContainSubstring(metering.MetricInFlight + " 0\n"))
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(response.StatusCode).To(Equal(http.StatusRequestTimeout))
	w.Expect(w.says()).To(ContainSubstring(metering.MetricRequests + " 0\n"))
}

func TestTooManyHeaderFieldsAreRefused(t *testing.T) {
	w := newWorld(t, http.NotFoundHandler())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.traffic, http.NoBody)
	w.Expect(err).NotTo(HaveOccurred())
	for i := range 200 {
		request.Header.Add(fmt.Sprintf("X-%d", i), "1")
	}
	response, err := http.DefaultClient.Do(request)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(response.Body.Close()).To(Succeed())
	w.Expect(response.StatusCode).To(Equal(http.StatusRequestHeaderFieldsTooLarge))
}

func TestAnApplicationThatIsAwayIsABadGateway(t *testing.T) {
	w := newWorld(t, http.NotFoundHandler())
	away := ports.Free(t)
	address, metrics := ports.Free(t), ports.Free(t)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	defer stop()
	go func() {
		_ = meter.New(meter.Options{Listen: address, Metrics: metrics, App: away, Log: slog.New(slog.DiscardHandler)}).Run(ctx)
	}()
	w.Eventually(func() (int, error) { return status(address, "/") }).Should(Equal(http.StatusBadGateway))
	w.Expect(status(metrics, metering.ReadyPath)).To(Equal(http.StatusServiceUnavailable))
	w.Expect(status(metrics, metering.LivePath)).To(Equal(http.StatusOK))
}
