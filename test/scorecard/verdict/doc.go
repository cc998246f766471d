// Package verdict is what a scorecard test says: what it did and saw, whether the operator passed, and
// what a person can do if it did not.
package verdict
