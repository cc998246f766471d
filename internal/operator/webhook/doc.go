// Package webhook serves to the API server the conversion of a kind between its versions,
// and validation, and makes the certificates that this needs. The names in the picture are
// those of the core.
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
// The operator reads objects in their current version. Those that are still stored in
// an earlier one must be converted first, by this very process. So nothing here waits for the
// caches of the controllers: the server, the authority and the trust run before
// them, in every replica, also in those that do not lead. Only the warnings of the
// validation are read from these caches, and left out while they are not filled.
package webhook
