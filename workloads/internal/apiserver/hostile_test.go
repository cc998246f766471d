package apiserver_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/console"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/test/aggregated"
)

func statusOf(t *testing.T, answer *http.Response) *metav1.Status {
	t.Helper()
	status := &metav1.Status{}
	NewWithT(t).Expect(json.NewDecoder(answer.Body).Decode(status)).To(Succeed())
	return status
}

func TestWhatIsAnsweredBeforeTheFirstByte(t *testing.T) {
	w := serving(t)
	keeper, stranger := w.keeper(), w.user("stranger")
	for sentence, test := range map[string]struct {
		as   string
		path string
		code int
		says string
	}{
		"a user without the right gets nothing":        {"stranger", backupURL, http.StatusForbidden, "etcdinstances/backup"},
		"an instance that does not exist is not found": {"keeper", etcd.Path(etcd.Subresources, namespace, "nothing", etcd.Backup), http.StatusNotFound, `"nothing" not found`},
		"one without members has to be waited for":     {"keeper", etcd.Path(etcd.Subresources, namespace, aggregated.Deploying, etcd.Backup), http.StatusConflict, "wait until its state is running"},
		"the right ends with the namespace":            {"keeper", etcd.Path(etcd.Subresources, "default", instance, etcd.Backup), http.StatusForbidden, "etcdinstances/backup"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			as := keeper
			if test.as == "stranger" {
				as = stranger
			}
			answer := w.get(as, test.path)
			g.Expect(answer.StatusCode).To(Equal(test.code))
			g.Expect(statusOf(t, answer).Message).To(ContainSubstring(test.says))

			client, err := remote.New(as)
			g.Expect(err).NotTo(HaveOccurred())
			other := named
			if test.code == http.StatusNotFound {
				other.Name = "nothing"
			}
			if test.code == http.StatusConflict {
				other.Name = aggregated.Deploying
			}
			if test.as == "keeper" && test.code == http.StatusForbidden {
				other.Namespace = "default"
			}
			_, err = client.Backup(t.Context(), other, io.Discard, func(int64, int64) {})
			g.Expect(err).To(MatchError(ContainSubstring(test.says)), "by an upgraded connection it says the same")
		})
	}
}

// direct asks our server itself, as a Pod of the cluster could, past the API server of the cluster.
func direct(t *testing.T, headers map[string]string, shows ...tls.Certificate) *http.Response {
	t.Helper()
	g := NewWithT(t)
	authority, err := os.ReadFile(filepath.Join(setup.Folder, "ca.crt"))
	g.Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(authority)).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: aggregated.Service + "." + operator.Namespace + ".svc", MinVersion: tls.VersionTLS12, Certificates: shows,
	}}
	t.Cleanup(transport.CloseIdleConnections)
	url := "https://" + net.JoinHostPort("localhost", strconv.Itoa(setup.Port)) + backupURL
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func pair(t *testing.T, folder, name string) tls.Certificate {
	t.Helper()
	loaded, err := tls.LoadX509KeyPair(filepath.Join(folder, name+".crt"), filepath.Join(folder, name+".key"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return loaded
}

// ofCluster is the certificate of a user of the cluster, who may do everything.
func ofCluster(t *testing.T) tls.Certificate {
	t.Helper()
	loaded, err := tls.X509KeyPair(cluster.Admin.CertData, cluster.Admin.KeyData)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return loaded
}

func TestAPodThatAsksItself(t *testing.T) {
	w := serving(t)
	w.keeper()
	forged := map[string]string{"X-Remote-User": "keeper", "X-Remote-Group": "system:masters"}
	other := t.TempDir()
	w.Expect(testenv.IssueCertificate(other, "front-proxy", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})).To(Succeed())
	clients, err := kubernetes.NewForConfig(cluster.Admin)
	w.Expect(err).NotTo(HaveOccurred())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod"}}
	w.Expect(client.IgnoreAlreadyExists(cluster.Client.Create(t.Context(), account))).To(Succeed())
	token, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "pod", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	bearer := map[string]string{"Authorization": "Bearer " + token.Status.Token}
	for sentence, test := range map[string]struct {
		headers map[string]string
		shows   []tls.Certificate
		code    int
	}{
		"is anonymous without credentials":                            {nil, nil, http.StatusUnauthorized},
		"is not who it says by a header":                              {forged, nil, http.StatusUnauthorized},
		"nor by a certificate of another authority":                   {forged, []tls.Certificate{pair(t, other, "front-proxy")}, http.StatusUnauthorized},
		"is not known by a token that is none":                        {map[string]string{"Authorization": "Bearer x"}, nil, http.StatusUnauthorized},
		"is its ServiceAccount by its token, which has no right":      {bearer, nil, http.StatusForbidden},
		"and stays that with a header that says another user":         {map[string]string{"Authorization": bearer["Authorization"], "X-Remote-User": "keeper"}, nil, http.StatusForbidden},
		"only the API server of the cluster says by headers who asks": {map[string]string{"X-Remote-User": "keeper"}, []tls.Certificate{pair(t, cluster.FrontProxy, "front-proxy")}, http.StatusOK},
		"and by them the user's own rights count":                     {map[string]string{"X-Remote-User": "stranger"}, []tls.Certificate{pair(t, cluster.FrontProxy, "front-proxy")}, http.StatusForbidden},
		"a user of the cluster is known by a certificate":             {nil, []tls.Certificate{ofCluster(t)}, http.StatusOK},
	} {
		t.Run(sentence, func(t *testing.T) {
			NewWithT(t).Expect(direct(t, test.headers, test.shows...).StatusCode).To(Equal(test.code))
		})
	}
}

func TestAnAPIServerWithoutOurAuthority(t *testing.T) {
	w := serving(t)
	authority, err := os.ReadFile(filepath.Join(cluster.FrontProxy, "ca.crt"))
	w.Expect(err).NotTo(HaveOccurred())
	change := func(with map[string]any) {
		w.t.Helper()
		object := setup.APIService()
		// The API server writes whether it is available meanwhile.
		w.Eventually(func(g Gomega) {
			g.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
			spec, _, _ := unstructured.NestedMap(object.Object, "spec")
			delete(spec, "caBundle")
			maps.Copy(spec, with)
			g.Expect(unstructured.SetNestedMap(object.Object, spec, "spec")).To(Succeed())
			g.Expect(cluster.Client.Update(t.Context(), object)).To(Succeed())
		}).Should(Succeed())
	}
	w.Die()
	encoded, err := json.Marshal(authority)
	w.Expect(err).NotTo(HaveOccurred())
	for sentence, wrong := range map[string]map[string]any{
		"a bundle of another authority is replaced": {"caBundle": string(bytes.Trim(encoded, `"`))},
		"an absent one is filled in":                {},
		"that nothing is checked is taken back":     {"insecureSkipTLSVerify": true},
	} {
		t.Run(sentence, func(t *testing.T) {
			change(wrong)
			w.Eventually(w.available).Should(Equal("False"), "nothing answers, or nothing that is trusted")
			w.start()
			object := setup.APIService()
			w.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
			unchecked, _, _ := unstructured.NestedBool(object.Object, "spec", "insecureSkipTLSVerify")
			w.Expect(unchecked).To(BeFalse())
			w.Die()
		})
	}
}

func TestManyBackupsAtOnce(t *testing.T) {
	w := serving(t)
	keeper := w.keeper()
	held := []*http.Response{w.get(keeper, backupURL), w.get(keeper, backupURL)}
	refused := w.get(keeper, backupURL)
	w.Expect(refused.StatusCode).To(Equal(http.StatusTooManyRequests))
	w.Expect(refused.Header.Get("Retry-After")).To(Equal("10"))
	w.Expect(statusOf(t, refused).Message).To(ContainSubstring("2 snapshots of this ETCDInstance shop/my-super-etcd are under way"))
	for _, answer := range held {
		w.Expect(answer.StatusCode).To(Equal(http.StatusOK))
		w.Expect(answer.Body.Close()).To(Succeed())
	}
	backup := func() error {
		client, err := remote.New(keeper)
		if err == nil {
			_, err = client.Backup(t.Context(), named, io.Discard, func(int64, int64) {})
		}
		return err
	}
	w.Eventually(backup).Should(Succeed(), "the places of those that were closed are free a moment later")

	// Far more than the two that find a place, and few enough for a busy machine to do their handshakes in time.
	const many = 30
	var whole, tooMany atomic.Int64
	var others sync.Map
	var group sync.WaitGroup
	for range many {
		group.Go(func() {
			switch err := backup(); {
			case err == nil:
				whole.Add(1)
			case apierrors.IsTooManyRequests(err):
				tooMany.Add(1)
			default:
				others.Store(err.Error(), true)
			}
		})
	}
	group.Wait()
	others.Range(func(text, _ any) bool { t.Errorf("a backup of %d: %s", many, text); return true })
	w.Expect(whole.Load()).To(BeNumerically(">", 0))
	w.Expect(whole.Load() + tooMany.Load()).To(BeEquivalentTo(many))
	t.Logf("of %d at once %d were whole and %d were refused", many, whole.Load(), tooMany.Load())
	w.Eventually(func() int { return w.get(keeper, backupURL).StatusCode }).Should(Equal(http.StatusOK), "no place is lost")
}

// killing is a writer that does something when it gets the first bytes: most of the others fit into
// no buffer on the way.
type killing struct {
	io.Writer
	once sync.Once
	kill func()
}

func (k *killing) Write(chunk []byte) (int, error) {
	k.once.Do(k.kill)
	return k.Writer.Write(chunk)
}

func TestAServerThatIsKilledInTheMiddle(t *testing.T) {
	t.Run("of a GET", func(t *testing.T) {
		w := serving(t)
		answer := w.get(w.keeper(), backupURL)
		checker := snapshot.NewChecker()
		_, err := io.Copy(&killing{Writer: checker, kill: w.Die}, struct{ io.Reader }{answer.Body})
		w.Expect(err).To(HaveOccurred())
		w.Expect(checker.Verdict()).To(BeAssignableToTypeOf(&snapshot.CutError{}))
	})
	t.Run("of an upgraded connection", func(t *testing.T) {
		w := serving(t)
		client, err := remote.New(w.keeper())
		w.Expect(err).NotTo(HaveOccurred())
		_, err = client.Backup(t.Context(), named, &killing{Writer: io.Discard, kill: w.Die}, func(int64, int64) {})
		cut := &snapshot.CutError{}
		w.Expect(errors.As(err, &cut)).To(BeTrue(), "%v", err)
	})
	t.Run("of a backup to a file, which gets no name", func(t *testing.T) {
		w := serving(t)
		client, err := remote.New(w.keeper())
		w.Expect(err).NotTo(HaveOccurred())
		folder := t.TempDir()
		died := make(chan struct{})
		go func() {
			defer close(died)
			w.Eventually(func() int64 { return sizeIn(folder) }).WithPolling(time.Millisecond).Should(BeNumerically(">", 0))
			w.Die()
		}()
		err = console.Console{Out: io.Discard, ErrOut: io.Discard}.Backup(t.Context(), client, named, filepath.Join(folder, "s.db"), false)
		<-died
		w.Expect(err).To(HaveOccurred())
		left, err := os.ReadDir(folder)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(left).To(BeEmpty())
	})
}

// sizeIn is how much the files of a folder hold.
func sizeIn(folder string) (size int64) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}
