package operator_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/testenv"
)

// The same start is lived again and again, of an operator that finds objects stored as v1 and webhooks without an authority;
// each time another of its writes goes wrong, or is its last. The end must be the same.
func TestTheStartEndsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	testenv.WhicheverWriteGoesWrong(t, 6, func(t *testing.T, fate *testenv.Fate) string { return newWorld(t).startUp(fate) })
}

// startUp lives that start, and describes the end.
func (w *world) startUp(fate *testenv.Fate) string {
	w.t.Helper()
	w.installOld()
	w.createShop()
	w.installNew()
	w.installValidation()

	// All have one address, as behind a Service.
	address := ports.Free(w.t)
	_, port, err := net.SplitHostPort(address)
	w.Expect(err).NotTo(HaveOccurred())
	one := []string{"WEBHOOK_PORT=" + port, "WEBHOOK_URL=https://" + address}
	p := w.start(append(one, "KUBECONFIG="+w.between(testenv.NewTraffic(fate.Interfere)))...)
	// One that stops leads the API server back to the Service, and the next one would have something to write.
	die := func() {
		if p.Kill != nil {
			p.Die()
		}
	}
	fate.Succeed(w.t, func() { die(); p = w.start(one...) })

	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).Should(Equal([]string{"v2"}))
	w.Eventually(func() error { return w.converts("later") }).Should(Succeed())
	w.awaitValidation()
	w.Eventually(w.observed("shop")).Should(BeTrue())
	w.Eventually(w.observed("later")).Should(BeTrue())
	fate.Change(die)
	die() // The one that followed, if that one died at last.
	end := w.ofOperator()
	next := w.start(one...)
	w.Eventually(next.Ready).Should(Succeed())
	w.Eventually(func() error { return w.converts("last") }).Should(Succeed())
	w.Eventually(w.observed("last")).Should(BeTrue())
	w.Expect(w.ofOperator()).To(Equal(end), "who starts on what another has left writes nothing")

	authority, err := w.authority()
	w.Expect(err).NotTo(HaveOccurred())
	trusted := string(authority.Data["ca.crt"])
	return fmt.Sprintln("conversions trust the authority:", strings.HasPrefix(string(w.clientConfig().CABundle), trusted),
		"the validation trusts it:", strings.HasPrefix(string(w.validation().CABundle), trusted))
}

// ofOperator are the versions of what the operator keeps beside its policies.
func (w *world) ofOperator() string {
	w.t.Helper()
	authority, err := w.authority()
	w.Expect(err).NotTo(HaveOccurred())
	return fmt.Sprint("Secret ", authority.ResourceVersion, ", definition ", w.definition().Generation, ", validation ", w.configuration().ResourceVersion)
}
