package probe

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/critical-service/operator/internal/contract/appprotocol"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/version"
)

// timeout bounds making the connection, and waiting for the answer.
const timeout = 3 * time.Second

// errTimeout is the cause of a context that ends because a server was too slow.
var errTimeout = errors.New("it took longer than " + timeout.String())

// errForeign is about an answer in another protocol that can be taken for one.
var errForeign = errors.New("it is in another protocol")

// Target is what to ask.
type Target struct {
	// Address is ip:port.
	Address string
	// Protocol in which to ask; empty is TCP.
	Protocol appprotocol.Protocol
	// Host is the name under which a client would know the server, such as
	// shop.default.svc; empty is the address. HTTP and TLS send it to the server.
	Host string
	// Dial makes the connection; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Failure is the kind of a failed question. Two failures of one kind are the same to a
// client, however the server worded its answer.
type Failure string

const (
	// Refused: nothing listens.
	Refused Failure = "refused"
	// Unreachable: no connection, for another reason.
	Unreachable Failure = "unreachable"
	// NotAccepted: the connection was not accepted in time.
	NotAccepted Failure = "not accepted"
	// Silent: the connection was accepted, and no answer began in time.
	Silent Failure = "silent"
	// Unfinished: the answer began, and did not end in time.
	Unfinished Failure = "unfinished"
	// Reset: the server reset the connection without a whole answer.
	Reset Failure = "reset"
	// Closed: the server closed the connection without a whole answer.
	Closed Failure = "closed"
	// Foreign: the answer is in another protocol.
	Foreign Failure = "foreign"
	// Malformed: the answer is not valid in its protocol.
	Malformed Failure = "malformed"
	// GivenUp: the question was canceled.
	GivenUp Failure = "given up"
)

// Result is what was seen.
type Result struct {
	// Answered reports whether the server did what a client can make sense of.
	Answered bool
	// Protocol in which it was asked.
	Protocol appprotocol.Protocol
	// Status is the answer in a word of its protocol: "503", "UNAVAILABLE", "57P03",
	// "LOADING", "1053", "connection accepted". It is empty if there was none.
	Status string
	// Took is the time from the first packet until the whole answer, or until the
	// question failed.
	Took time.Duration
	// Failure is why there was no answer; empty if there was one.
	Failure Failure
	// Problem is the same for a person, as a predicate of the server, which has the
	// address in it: "refused the connection on 10.0.0.3:20001: nothing listens there".
	Problem string
}

// Ask asks one question. It takes some seconds at most, or less if ctx ends.
func Ask(ctx context.Context, target Target) Result {
	if target.Protocol == "" {
		target.Protocol = appprotocol.TCP
	}
	if target.Host == "" {
		target.Host = target.Address
	}
	result, started := Result{Protocol: target.Protocol}, time.Now()
	conn, failure, problem := connect(ctx, target)
	if conn == nil {
		result.Took, result.Failure, result.Problem = time.Since(started), failure, problem
		return result
	}
	accepted := time.Since(started)
	defer conn.Close()

	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	// Not every connection has deadlines: those through a port-forward have none.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	status, err := speakers[target.Protocol].ask(ctx, conn, target)
	result.Took = time.Since(started)
	if target.Protocol == appprotocol.TCP {
		result.Took = accepted
	}
	if err == nil && conn.isForeign(target.Protocol) {
		err = errForeign
	}
	if err != nil {
		result.Failure, result.Problem = conn.problem(ctx, target, err)
		return result
	}
	result.Answered, result.Status = true, status
	return result
}

// agent is who asks, where a protocol lets a client say so.
func agent() string { return listener.SelfTestAgent + "/" + version.Version }
