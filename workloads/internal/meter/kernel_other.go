//go:build !linux

package meter

import "syscall"

func sendLittleAhead(string, string, syscall.RawConn) error { return nil }

func keepLittle(string, string, syscall.RawConn) error { return nil }
