package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/critical-service/operator/internal/contract/appprotocol"
)

const (
	// quoted is how much of an answer is kept to be quoted.
	quoted = 48
	// readLimit is how much is read of a server in all.
	readLimit = 1 << 20
)

// errReadLimit ends an answer that is too long.
var errReadLimit = errors.New("the answer is longer than " + strconv.Itoa(readLimit) + " bytes")

// recorder is a connection that records how the server began, and how it ended.
type recorder struct {
	net.Conn
	mu sync.Mutex
	// first are the first bytes that came; total is how many came.
	first []byte
	total int
	// end is why there was nothing more to read.
	end error
}

// Read records what it reads.
func (r *recorder) Read(into []byte) (int, error) {
	r.mu.Lock()
	left := readLimit - r.total
	r.mu.Unlock()
	if left <= 0 {
		return 0, errReadLimit
	}
	n, err := r.Conn.Read(into[:min(len(into), left)])
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = append(r.first, into[:min(n, quoted-len(r.first))]...)
	r.total += n
	if err != nil && r.end == nil && !errors.Is(err, net.ErrClosed) { // Otherwise the prober itself ended it.
		r.end = err
	}
	return n, err
}

// connect opens the connection, or says why there is none.
func connect(ctx context.Context, target Target) (conn *recorder, failure Failure, problem string) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	dial := target.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	raw, err := dial(ctx, "tcp", target.Address)
	if err == nil {
		return &recorder{Conn: raw}, "", ""
	}
	if operation, isOperation := errors.AsType[*net.OpError](err); isOperation {
		err = operation.Err // Its text would say the address once more.
	}
	switch {
	case isReset(err):
		return nil, Reset, (&recorder{}).cut(target)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, Refused, fmt.Sprintf("refused the connection on %s: nothing listens there", target.Address)
	case errors.Is(context.Cause(ctx), errTimeout):
		return nil, NotAccepted, fmt.Sprintf("did not accept a connection on %s within %s", target.Address, timeout)
	case ctx.Err() != nil:
		return nil, GivenUp, fmt.Sprintf("had not accepted the connection on %s when the question was given up", target.Address)
	default:
		return nil, Unreachable, fmt.Sprintf("cannot be reached on %s: %v", target.Address, err)
	}
}

// problem says why there was no answer. What went over the wire shows it better than the
// many errors of the protocols' libraries.
func (r *recorder) problem(ctx context.Context, target Target, err error) (failure Failure, text string) {
	foreign := r.isForeign(target.Protocol)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case foreign:
		return Foreign, fmt.Sprintf("answered on %s, but not in %s: it said %s", target.Address, target.Protocol, r.quote())
	case errors.Is(context.Cause(ctx), errTimeout) && len(r.first) == 0:
		return Silent, fmt.Sprintf("accepted the connection on %s and said nothing for %s", target.Address, timeout)
	case errors.Is(context.Cause(ctx), errTimeout):
		return Unfinished, fmt.Sprintf("began to answer on %s and had not finished after %s", target.Address, timeout)
	case ctx.Err() != nil:
		return GivenUp, fmt.Sprintf("had not answered on %s when the question was given up", target.Address)
	case isReset(r.end) || isReset(err):
		return Reset, r.cut(target)
	case r.end != nil:
		return Closed, fmt.Sprintf("accepted the connection on %s and closed it %s", target.Address, r.when())
	default:
		return Malformed, fmt.Sprintf("answered on %s, but not as %s wants it: %.200s", target.Address, target.Protocol, innermost(err).Error())
	}
}

// isForeign reports whether the server said something that is not of the protocol.
func (r *recorder) isForeign(protocol appprotocol.Protocol) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.first) > 0 && !speakers[protocol].begins(r.first)
}

func (r *recorder) cut(target Target) string {
	return fmt.Sprintf("accepted the connection on %s and reset it %s", target.Address, r.when())
}

func (r *recorder) when() string {
	if len(r.first) > 0 {
		return "in the middle of its answer"
	}
	return "without an answer"
}

// quote is how the answer began, fit for a message: the first line of it, as far as
// it is text. What follows is often another one each time: a date, a random number.
func (r *recorder) quote() string {
	end := slices.IndexFunc(r.first, func(b byte) bool { return b < ' ' || b > '~' })
	if end < 0 {
		end = len(r.first)
	}
	if end == 0 {
		return "something that is no text"
	}
	return strconv.Quote(string(r.first[:end]))
}

// innermost is the error that the others are about.
func innermost(err error) error {
	for next := err; next != nil; next = errors.Unwrap(next) {
		err = next
	}
	return err
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
