package webhook

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestAnOperatorThatMayNotMakeACertificateSaysWhatItLacks(t *testing.T) {
	secrets := corev1.Resource("secrets")
	for sentence, test := range map[string]struct {
		answer error
		wanted []string
	}{
		"it may, and there is no authority yet": {apierrors.NewNotFound(secrets, authorityName), nil},
		"it may, and there is one":              {nil, nil},
		"the API server gives no answer":        {errors.New("connection refused"), nil},
		"it may not": {
			apierrors.NewForbidden(secrets, authorityName, errors.New("not granted")),
			[]string{"WEBHOOK_CERT_DIR", "tls.crt", "config/rbac/certificates_role_binding.yaml", "only version of CriticalService", "is v2", "/certificates", authorityName},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			answers := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
				Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
					return test.answer
				},
			}).Build()
			options := at("system")
			options.CertDir = "/certificates"
			logged := ""
			logger := funcr.New(func(_, line string) { logged += line }, funcr.Options{})
			reportDenial(logr.NewContext(t.Context(), logger), answers, options)
			if test.wanted == nil {
				g.Expect(logged).To(BeEmpty())
			}
			for _, words := range test.wanted {
				g.Expect(logged).To(ContainSubstring(words))
			}
		})
	}
}
