package responder_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
	"github.com/critical-service/operator/test/ports"
)

const timeout = 10 * time.Second

// world is a responder that runs, and its files.
type world struct {
	t       testing.TB
	ports   listener.Range
	admin   string
	table   string
	content string
	// end asks it to end; done gets what Run returned.
	end  context.CancelFunc
	done chan error
}

// start runs a responder on n free ports, with a table and options of the test's
// own. It is ended with the test.
func start(t testing.TB, n int32, table []listener.Listener, adjust func(*responder.Options)) *world {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	w := &world{t: t, table: filepath.Join(folder, "listeners", listener.Key), content: filepath.Join(folder, "content"), done: make(chan error, 1)}
	g.Expect(os.MkdirAll(w.content, 0o755)).To(Succeed())
	w.ports = ports.Range(t, n+1)
	w.admin = fmt.Sprintf("127.0.0.1:%d", w.ports.Last)
	w.ports.Last--
	for i := range table {
		table[i].Port += w.ports.First
	}
	w.writeTable(table)
	options := responder.Bind(pflag.NewFlagSet("", pflag.PanicOnError))
	options.Listeners, options.BindAddress = w.ports.String(), "127.0.0.1"
	options.Table, options.Content = w.table, w.content
	options.AdminBindAddress, options.Drain, options.LogLevel = w.admin, 0, "error"
	if adjust != nil {
		adjust(options)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.end = cancel
	go func() { w.done <- responder.Run(ctx, *options) }()
	t.Cleanup(func() {
		cancel()
		g.Eventually(w.done, timeout).Should(Receive(BeNil()))
		w.done <- nil
	})
	g.Eventually(func() int { return w.adminStatus("/readyz") }, timeout).Should(Equal(http.StatusOK))
	return w
}

func (w *world) writeTable(listeners []listener.Listener) {
	w.t.Helper()
	data, err := (&listener.Table{Listeners: listeners}).Encode()
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
	swap(w.t, filepath.Dir(w.table), map[string]string{listener.Key: string(data)})
}

// swap writes files as the kubelet does: into a new folder to which the link
// ..data is then turned.
func swap(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(os.MkdirAll(folder, 0o755)).To(Succeed())
	fresh, err := os.MkdirTemp(folder, "..2030_") //nolint:usetesting // It must lie in the folder of the volume.
	g.Expect(err).NotTo(HaveOccurred())
	for name, text := range files {
		g.Expect(os.WriteFile(filepath.Join(fresh, name), []byte(text), 0o600)).To(Succeed())
	}
	old, _ := os.Readlink(filepath.Join(folder, "..data"))
	g.Expect(os.Symlink(filepath.Base(fresh), filepath.Join(folder, "..data_tmp"))).To(Succeed())
	g.Expect(os.Rename(filepath.Join(folder, "..data_tmp"), filepath.Join(folder, "..data"))).To(Succeed())
	for name := range files {
		if link := filepath.Join(folder, name); !exists(link) {
			g.Expect(os.Symlink(filepath.Join("..data", name), link)).To(Succeed())
		}
	}
	if old != "" {
		g.Expect(os.RemoveAll(filepath.Join(folder, old))).To(Succeed())
	}
}

// mount lets a folder appear with its files in it, as a volume does.
func mount(t testing.TB, folder string, files map[string]string) {
	t.Helper()
	prepared := filepath.Join(t.TempDir(), "volume")
	swap(t, prepared, files)
	NewWithT(t).Expect(os.Rename(prepared, folder)).To(Succeed())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// address is host:port of a listener, counted from 0.
func (w *world) address(n int32) string { return fmt.Sprintf("127.0.0.1:%d", w.ports.First+n) }

func (w *world) url(n int32, path string) string { return "http://" + w.address(n) + path }

// dial connects to a listener. No test waits longer than timeout for it.
func (w *world) dial(n int32) *net.TCPConn {
	w.t.Helper()
	c, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", w.address(n))
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
	w.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(timeout))
	return c.(*net.TCPConn)
}

// get asks with a connection of its own.
func get(ctx context.Context, url string, header ...string) (status int, body string, answer *http.Response, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", nil, err
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timeout}
	answer, err = client.Do(request)
	if err != nil {
		return 0, "", nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), answer, err
}

// text is what a listener answers to a client of text.
func (w *world) text(n int32) string {
	_, body, _, _ := get(w.t.Context(), w.url(n, "/"), "Accept", "text/plain")
	return body
}

func (w *world) adminStatus(path string) int {
	status, _, _, _ := get(w.t.Context(), "http://"+w.admin+path)
	return status
}

func (w *world) metrics() string {
	_, body, _, _ := get(w.t.Context(), "http://"+w.admin+"/metrics")
	return body
}

func says(message string) *criticalv2.PageFallback {
	return &criticalv2.PageFallback{StatusCode: 503, RetryAfterSeconds: new(int32(7)), Message: message}
}
