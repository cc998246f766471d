package checkup

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const checkCertificate = "certificate"

const (
	// authorityNotice is how long before its end an authority is worth a warning:
	// the operator renews its own long before.
	authorityNotice = 14 * 24 * time.Hour
	// servedNotice is the same for the certificate that is served, which lives for
	// days.
	servedNotice = 24 * time.Hour

	whyConversion = "the API server does not reach the operator's conversion, so that CriticalServices of version v1 cannot be read or written"
	whyValidation = "the API server accepts CriticalServices unchecked"
	fixAuthority  = "the operator writes it at its start, unless cert-manager or OLM is to do it: read the operator's log, or check the Certificate"
)

// certificates checks what the API server trusts, and what the operator presents.
func certificates(w *World) []Finding {
	var findings []Finding
	findings = append(findings, conversionTrust(w)...)
	findings = append(findings, validationTrust(w)...)
	return append(findings, presented(w)...)
}

func conversionTrust(w *World) []Finding {
	if w.Definition.Problem != "" || w.Definition.Missing {
		return nil // The check of the definition says so.
	}
	conversion := w.Definition.Value.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter {
		return nil
	}
	var bundle []byte
	if conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		bundle = conversion.Webhook.ClientConfig.CABundle
	}
	return trust(w, "the conversion of CriticalServices", bundle, Problem, whyConversion)
}

func validationTrust(w *World) []Finding {
	hook := w.Webhook
	switch {
	case hook.Problem != "":
		return unchecked(checkCertificate, "the ValidatingWebhookConfiguration critical-service-webhook: "+hook.Problem,
			"run it with the right to get validatingwebhookconfigurations")
	case hook.Missing || len(hook.Value.Webhooks) == 0:
		return nil // OLM gives it another name; then it also keeps its certificate.
	}
	return trust(w, "the validation of CriticalServices", hook.Value.Webhooks[0].ClientConfig.CABundle, Warning, whyValidation)
}

// trust checks a caBundle by the certificate that is valid for longest.
func trust(w *World, of string, bundle []byte, broken Severity, why string) []Finding {
	end, err := lastEnd(bundle)
	left := end.Sub(w.Now)
	switch {
	case err != nil:
		return []Finding{{Check: checkCertificate, Severity: broken, What: fmt.Sprintf("the caBundle of %s is not valid: %v", of, err), Why: why, Fix: fixAuthority}}
	case left <= 0:
		return []Finding{{Check: checkCertificate, Severity: broken, What: fmt.Sprintf("the caBundle of %s ended at %s", of, end.UTC().Format(time.RFC3339)), Why: why, Fix: fixAuthority}}
	case left < authorityNotice:
		return []Finding{{
			Check: checkCertificate, Severity: Warning, What: fmt.Sprintf("the caBundle of %s ends at %s", of, end.UTC().Format(time.RFC3339)), Why: "then " + why, Fix: fixAuthority,
		}}
	}
	return ok(checkCertificate, fmt.Sprintf("the caBundle of %s is valid until %s", of, end.UTC().Format(time.DateOnly)))
}

func lastEnd(bundle []byte) (time.Time, error) {
	var last time.Time
	for {
		var block *pem.Block
		block, bundle = pem.Decode(bundle)
		if block == nil {
			break
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}, err
		}
		if certificate.NotAfter.After(last) {
			last = certificate.NotAfter
		}
	}
	if last.IsZero() {
		return last, fmt.Errorf("it holds no certificate")
	}
	return last, nil
}

// presented checks the certificate of the operator's webhook.
func presented(w *World) []Finding {
	served := w.Served
	left := served.Value.NotAfter.Sub(w.Now)
	switch {
	case served.Missing:
		return nil
	case served.Problem != "":
		return unchecked(checkCertificate, "the certificate that the operator presents: "+served.Problem, "run it with the right to forward ports of Pods (pods/portforward) in the operator's namespace, while the operator runs")
	case served.Value.Untrusted != "":
		return []Finding{{
			Check: checkCertificate, Severity: Problem, What: "the API server does not trust the certificate that the operator presents: " + served.Value.Untrusted,
			Why: whyConversion, Fix: fixAuthority,
		}}
	case left < servedNotice:
		return []Finding{{
			Check: checkCertificate, Severity: Warning, What: "the certificate that the operator presents ends at " + served.Value.NotAfter.UTC().Format(time.RFC3339),
			Why: "then " + whyConversion, Fix: fixAuthority,
		}}
	}
	return ok(checkCertificate, "the operator presents a certificate that the API server trusts, valid until "+served.Value.NotAfter.UTC().Format(time.DateOnly))
}
