// Package generated declares objects of all kinds and versions of this operator by their schemas, and sees what becomes
// of them.
package generated
