package console_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/console"
	"github.com/critical-service/operator/internal/etcd/remote"
	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/internal/etcd/snapshot/snapshottest"
)

var named = types.NamespacedName{Namespace: "shop", Name: "e"}

type object = map[string]any

// api is an API server with one ETCDInstance at most, and the operator behind it.
type api struct {
	mu sync.Mutex
	// instance is nil where there is none, and sent what was made.
	instance, sent object
	// received is what was uploaded, and answer what is said to it.
	received []byte
	answer   string
	// after are the conditions Restored that follow each other, one for each time that it is read.
	after []object
}

func condition(status, reason, message string) object {
	return object{"type": etcd.ConditionRestored, "status": status, "reason": reason, "message": message}
}

func instance(spec object) object {
	return object{"apiVersion": etcd.Kind.GroupVersion().String(), "kind": etcd.Kind.Kind, "metadata": object{"namespace": "shop", "name": "e"}, "spec": spec}
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Path == etcd.Path(etcd.Subresources, "shop", "e", etcd.Restore) {
		a.receive(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		a.instance = object{}
		_ = json.NewDecoder(r.Body).Decode(&a.instance)
		a.sent, _ = a.instance["spec"].(object)
	}
	if a.instance == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"etcdinstances \"e\" not found"}`)
		return
	}
	if len(a.after) > 0 && r.Method == http.MethodGet {
		a.instance["status"] = object{"conditions": []any{a.after[0]}}
		a.after = a.after[1:]
	}
	_ = json.NewEncoder(w).Encode(a.instance)
}

func (a *api) receive(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{Subprotocols: []string{etcd.Protocol}}
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer connection.Close()
	for {
		_, chunk, err := connection.ReadMessage()
		if err != nil || len(chunk) == 0 {
			break
		}
		a.received = append(a.received, chunk...)
	}
	_ = connection.WriteMessage(websocket.TextMessage, []byte(a.answer))
}

// restored runs a restoration against an API server, and returns what is printed.
func restored(t *testing.T, a *api, r *console.Restoration) (string, error) {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client, err := remote.New(&rest.Config{Host: server.URL, QPS: -1})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	r.Instance, r.Within = named, 20*time.Second
	var out bytes.Buffer
	err = console.Console{Out: &out, ErrOut: &out}.Restore(t.Context(), client, r)
	return out.String(), err
}

var (
	waits       = condition("False", etcd.ReasonWaiting, "The snapshot is awaited.")
	restoring   = condition("False", "RestorePending", "The snapshot is being restored.")
	isRestored  = condition("True", "Restored", "")
	success     = `{"kind":"Status","apiVersion":"v1","status":"Success"}`
	fullVolume  = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"the volume is full"}`
	oneThatWait = object{"replicas": 3, "restore": object{"upload": true}}
)

func TestASnapshotIsRestored(t *testing.T) {
	whole := snapshottest.Taken(t, 57)
	file := filepath.Join(t.TempDir(), "s.db")
	NewWithT(t).Expect(os.WriteFile(file, whole, 0o600)).To(Succeed())
	t.Run("into an instance that is made", func(t *testing.T) {
		g := NewWithT(t)
		a := &api{answer: success, after: []object{waits, restoring, isRestored}}
		printed, err := restored(t, a, &console.Restoration{File: file, Spec: &remote.Spec{Replicas: new(int64(3)), Storage: "1Gi", Upload: true}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.sent).To(Equal(object{"replicas": 3.0, "storage": object{"size": "1Gi"}, "restore": object{"upload": true}}))
		g.Expect(a.received).To(Equal(whole))
		g.Expect(printed).To(Equal("The snapshot is awaited.\nsent a backup to shop/e: revision 57, " + console.Size(int64(len(whole))) +
			"\nThe snapshot is being restored.\netcdinstance/e restored\n"))
	})
	t.Run("into one that waits for it", func(t *testing.T) {
		g := NewWithT(t)
		a := &api{instance: instance(oneThatWait), answer: success, after: []object{restoring, waits, isRestored}}
		_, err := restored(t, a, &console.Restoration{File: file, Spec: &remote.Spec{}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.sent).To(BeNil())
		g.Expect(a.received).To(Equal(whole))
	})
	t.Run("from another instance", func(t *testing.T) {
		g := NewWithT(t)
		a := &api{after: []object{restoring, isRestored}}
		_, err := restored(t, a, &console.Restoration{Spec: &remote.Spec{Storage: "1Gi", From: "other"}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(a.sent).To(Equal(object{"storage": object{"size": "1Gi"}, "restore": object{"fromInstance": "other"}}))
	})
}

func TestWhatCannotBeRestored(t *testing.T) {
	whole := snapshottest.Taken(t, 57)
	for sentence, test := range map[string]struct {
		content []byte
		api     *api
		storage string
		says    string
		verdict bool
	}{
		"a file that is cut":                      {whole[:len(whole)/2], &api{}, "1Gi", "was cut after", true},
		"into nothing, without a size":            {whole, &api{}, "", "say by --storage how large", false},
		"into an instance with data of its own":   {whole, &api{instance: instance(object{"replicas": 1})}, "", "choose another name", false},
		"into one that is restored":               {whole, &api{instance: instance(oneThatWait), after: []object{isRestored}}, "", "its data is restored already", false},
		"when the operator cannot":                {whole, &api{instance: instance(oneThatWait), after: []object{restoring, condition("False", etcd.ReasonRestoreFailed, "No node has room.")}}, "", "No node has room.", false},
		"when the Pod does not take the snapshot": {whole, &api{instance: instance(oneThatWait), answer: fullVolume, after: []object{waits, waits}}, "", "the volume is full", false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), "s.db")
			g.Expect(os.WriteFile(file, test.content, 0o600)).To(Succeed())
			printed, err := restored(t, test.api, &console.Restoration{File: file, Spec: &remote.Spec{Storage: test.storage, Upload: true}})
			g.Expect(err).To(MatchError(ContainSubstring(test.says)))
			g.Expect(snapshot.IsVerdict(err)).To(Equal(test.verdict))
			g.Expect(printed).NotTo(ContainSubstring("etcdinstance/e restored"))
			g.Expect(test.api.sent).To(BeNil(), "nothing is made")
		})
	}
}
