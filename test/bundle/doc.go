// Package bundle holds the OLM bundle against what it is made from: the CRD, the
// samples, the permissions, the Deployment, the documents. `make verify` checks
// whether the bundle is what `make bundle` generates, and `make bundle-validate`
// whether it is a valid one; these tests check whether it is complete.
package bundle
