//go:build !unix

package build

// lock does nothing where there is no file lock of the Unix kind: such a
// system uses another cluster anyway.
func (b *Builder) lock() (unlock func(), err error) { return func() {}, nil }
