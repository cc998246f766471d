// Package make_test holds the Makefile to what users of Operator SDK know: its variables and
// targets have the meaning that they have in a project that `operator-sdk init` makes, or are
// refused with a sentence.
package make_test
