// Package webhook serves the conversion of CriticalServices between v1 and v2 and
// their validation to the API server, and makes the certificates that this needs.
//
//	API server ── https ──▶ Service critical-service-webhook ──▶ every replica: /convert, /validate-…
//	     ▲                                                            │ its own certificate,
//	     │ caBundle                                                   │ in memory
//	CustomResourceDefinition ◀────────┬── trust ── Secret critical-service-webhook-ca (the CA)
//	ValidatingWebhookConfiguration ◀──┘
//
// The certificates are self-made: an authority lives in a Secret, which the first
// replica makes and all share. Each replica signs a certificate for itself, which
// never leaves its memory. Both are renewed long before they end, or when the
// Secret goes, without a restart. Trust keeps the CustomResourceDefinition and the
// ValidatingWebhookConfiguration, if there is one, pointed at the webhook, and
// makes the API server trust the authority, and the one before it, so that
// replicas may follow one after the other.
//
// Where WEBHOOK_CERT_DIR holds a certificate (OLM and cert-manager put one
// there), that one is served, and its provider keeps the rest: neither the Secret
// nor those two objects are touched.
//
// # Who waits for whom
//
// The operator reads CriticalServices in v2. Those that are still stored as v1
// must be converted first, by this very process. So nothing here waits for the
// caches of the controllers: the server, the authority and the trust run before
// them, in every replica, also in those that do not lead. Only the warnings of the
// validation are read from these caches, and left out while they are not filled.
//
// # What the validation may do
//
// It rejects what the schema cannot express, by the rules of api/v2, and warns of
// what is valid and will not do what users expect. It fails open: see
// docs/decisions/0024-validating-webhook-fails-open.md.
package webhook
