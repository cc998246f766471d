package prober

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
)

// Fault is the class of a request without an answer.
type Fault string

const (
	// Refused is what a Service without endpoints gives, and a host on which nothing listens.
	Refused Fault = "refused"
	// Timeout is what a vanished Pod address gives: packets go nowhere.
	Timeout Fault = "timeout"
	// Reset is a connection that broke before the whole answer was there.
	Reset Fault = "reset"
	// Unreachable is what the network says when it knows that there is no such host.
	Unreachable Fault = "unreachable"
	// DNS is a host name that did not resolve.
	DNS Fault = "dns"
	// Other is everything else; Result.Detail has the words.
	Other Fault = "other"
)

// Classify finds the class of the error of a request.
func Classify(err error) Fault {
	var dns *net.DNSError
	var netErr net.Error
	switch {
	case errors.As(err, &dns):
		return DNS
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Reset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Unreachable
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return Timeout
	}
	return Other
}
