// Package policies acts with the credentials of this operator as an attacker who has stolen them: what config/rbac lets
// through, and what config/admission stops.
package policies
