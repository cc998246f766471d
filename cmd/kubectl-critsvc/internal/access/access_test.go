package access_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
)

func TestAnArgumentNamesAService(t *testing.T) {
	to := access.New(genericiooptions.NewTestIOStreamsDiscard())
	*to.Flags.Namespace = "shop"
	for argument, want := range map[string]string{
		"web": "web", "svc/web": "web", "service/web": "web", "services/web": "web",
		"pod/web": "", "svc/": "", "svc/a/b": "", "Web": "", "": "",
	} {
		t.Run(argument, func(t *testing.T) {
			g := NewWithT(t)
			key, err := to.Service(argument)
			if want == "" {
				g.Expect(err).To(MatchError(ContainSubstring("name it svc/NAME")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(key).To(Equal(types.NamespacedName{Namespace: "shop", Name: want}))
		})
	}
}

func TestOneServiceIsToBeNamed(t *testing.T) {
	g := NewWithT(t)
	g.Expect(access.OneService(nil, []string{"svc/web"})).To(Succeed())
	g.Expect(access.OneService(nil, nil)).To(MatchError("name a Service: svc/NAME"))
	g.Expect(access.OneService(nil, []string{"svc/web", "svc/shop"})).To(MatchError("name one Service, svc/NAME, and not 2: svc/web svc/shop"))
}

func TestAnErrorSaysWhatToDo(t *testing.T) {
	resource := schema.GroupResource{Group: criticalv2.GroupVersion.Group, Resource: "criticalservices"}
	for name, test := range map[string]struct {
		err   error
		words string
	}{
		"the kind is not known":      {&meta.NoKindMatchError{GroupKind: criticalv2.CriticalServiceKind.GroupKind()}, "the Critical Service Operator is not installed here"},
		"the resource is not served": {fmt.Errorf("list CriticalServices: %w", apierrors.NewGenericServerResponse(404, "list", resource, "", "", 0, true)), "is not installed here"},
		"it is forbidden":            {apierrors.NewForbidden(resource, "", errors.New("no")), `ClusterRole "view"`},
		"it is of no namespace":      {apierrors.NewForbidden(resource, "", errors.New("no")), "by a ClusterRoleBinding"},
		"a quota is full": {apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "drill", errors.New("exceeded quota: small, requested: pods=1")),
			"a quota of the namespace has no room for this"},
		"the login is over":               {apierrors.NewUnauthorized("expired"), "log in again"},
		"the cluster does not answer":     {fmt.Errorf("list: %w", context.DeadlineExceeded), "cannot be reached"},
		"others are reported as they are": {errors.New("a disk is full"), "a disk is full"},
		"an object that is not there is":  {apierrors.NewNotFound(resource, "storefront"), `"storefront" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			explained := access.Explain(test.err)
			g.Expect(explained).To(MatchError(ContainSubstring(test.words)))
			g.Expect(explained.Error()).To(ContainSubstring(test.err.Error()), "the error itself stays")
		})
	}
	g := NewWithT(t)
	forbidden := access.Explain(apierrors.NewForbidden(resource, "", errors.New("no")))
	g.Expect(access.Explain(fmt.Errorf("drill: %w", forbidden))).To(MatchError("drill: "+forbidden.Error()), "it is said once")
	full := apierrors.NewForbidden(resource, "", errors.New("exceeded quota"))
	g.Expect(access.Explain(full)).NotTo(MatchError(ContainSubstring("you may not")))
	disk := &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	g.Expect(access.Explain(disk)).To(MatchError("write /dev/stdout: no space left on device"))
	g.Expect(access.Explain(nil)).To(Succeed())
	g.Expect(access.Explain(access.ErrNo)).To(Equal(access.ErrNo))
}
