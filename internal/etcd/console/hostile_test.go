package console_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/console"
	"github.com/critical-service/operator/internal/etcd/remote"
)

// Who writes a status is not who reads it at a terminal.
func TestAStatusCannotCommandATerminal(t *testing.T) {
	hostile := "ends\nNAMESPACE \x1b[2J\u202e" + strings.Repeat("x", 64<<10)
	harmless := And(ContainSubstring("ends NAMESPACE ?[2J?xxx"), Not(ContainSubstring("\x1b")), WithTransform(func(s string) int { return len(s) }, BeNumerically("<", 4096)))
	t.Run("in a list", func(t *testing.T) {
		g := NewWithT(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			item := instance(object{"replicas": 1})
			item["status"] = object{"state": "failed", "message": hostile}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(object{"apiVersion": etcd.Kind.GroupVersion().String(), "kind": etcd.Kind.Kind + "List", "items": []any{item}})
		}))
		t.Cleanup(server.Close)
		client, err := remote.New(&rest.Config{Host: server.URL})
		g.Expect(err).NotTo(HaveOccurred())
		var out bytes.Buffer
		g.Expect(console.Console{Out: &out, ErrOut: &out}.List(t.Context(), client, "shop")).To(Succeed())
		g.Expect(out.String()).To(harmless)
		g.Expect(strings.Count(out.String(), "\n")).To(Equal(2), "a heading and a line")
	})
	t.Run("while a restoration is awaited", func(t *testing.T) {
		g := NewWithT(t)
		out, err := restored(t, &api{after: []object{condition("False", "RestorePending", hostile), isRestored}}, &console.Restoration{Spec: &remote.Spec{From: "other"}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(harmless)
	})
	t.Run("nor by why it failed", func(t *testing.T) {
		g := NewWithT(t)
		_, err := restored(t, &api{after: []object{condition("False", etcd.ReasonRestoreFailed, hostile)}}, &console.Restoration{Spec: &remote.Spec{From: "other"}})
		g.Expect(err).To(MatchError(harmless))
	})
}
