// Package policy answers what the API server asks about CriticalServices: it converts them
// between v1 and v2, and validates them.
//
// # What the validation may do
//
// It rejects what the schema cannot express, by the rules of api/v2, and warns of
// what is valid and will not do what users expect. It fails open: see
// docs/decisions/0024-validating-webhook-fails-open.md.
package policy
