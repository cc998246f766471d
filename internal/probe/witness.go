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

// witness is a connection that remembers how the server began, and how it ended.
type witness struct {
	net.Conn
	mu sync.Mutex
	// first are the first bytes that came; total is how many came.
	first []byte
	total int
	// end is why there was nothing more to read.
	end error
}

// Read remembers what it reads.
func (w *witness) Read(into []byte) (int, error) {
	w.mu.Lock()
	left := readLimit - w.total
	w.mu.Unlock()
	if left <= 0 {
		return 0, errReadLimit
	}
	n, err := w.Conn.Read(into[:min(len(into), left)])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.first = append(w.first, into[:min(n, quoted-len(w.first))]...)
	w.total += n
	if err != nil && w.end == nil && !errors.Is(err, net.ErrClosed) { // Else it is we who ended it.
		w.end = err
	}
	return n, err
}

// connect opens the connection, or says why there is none.
func connect(ctx context.Context, target Target) (conn *witness, failure Failure, problem string) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	dial := target.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	raw, err := dial(ctx, "tcp", target.Address)
	if err == nil {
		return &witness{Conn: raw}, "", ""
	}
	if operation, isOperation := errors.AsType[*net.OpError](err); isOperation {
		err = operation.Err // Its text would say the address once more.
	}
	switch {
	case isReset(err):
		return nil, Reset, (&witness{}).cut(target)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, Refused, fmt.Sprintf("refused the connection on %s: nothing listens there", target.Address)
	case errors.Is(context.Cause(ctx), errPatience):
		return nil, NotAccepted, fmt.Sprintf("did not accept a connection on %s within %s", target.Address, patience)
	case ctx.Err() != nil:
		return nil, GivenUp, fmt.Sprintf("had not accepted the connection on %s when the question was given up", target.Address)
	default:
		return nil, Unreachable, fmt.Sprintf("cannot be reached on %s: %v", target.Address, err)
	}
}

// problem says why there was no answer. What went over the wire shows it better than the
// many errors of the protocols' libraries.
func (w *witness) problem(ctx context.Context, target Target, err error) (failure Failure, text string) {
	foreign := w.isForeign(target.Protocol)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case foreign:
		return Foreign, fmt.Sprintf("answered on %s, but not in %s: it said %s", target.Address, target.Protocol, w.quote())
	case errors.Is(context.Cause(ctx), errPatience) && len(w.first) == 0:
		return Silent, fmt.Sprintf("accepted the connection on %s and said nothing for %s", target.Address, patience)
	case errors.Is(context.Cause(ctx), errPatience):
		return Unfinished, fmt.Sprintf("began to answer on %s and had not finished after %s", target.Address, patience)
	case ctx.Err() != nil:
		return GivenUp, fmt.Sprintf("had not answered on %s when the question was given up", target.Address)
	case isReset(w.end) || isReset(err):
		return Reset, w.cut(target)
	case w.end != nil:
		return Closed, fmt.Sprintf("accepted the connection on %s and closed it %s", target.Address, w.when())
	default:
		return Malformed, fmt.Sprintf("answered on %s, but not as %s wants it: %.200s", target.Address, target.Protocol, innermost(err).Error())
	}
}

// isForeign reports whether the server said something that is not of the protocol.
func (w *witness) isForeign(protocol appprotocol.Protocol) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.first) > 0 && !speakers[protocol].begins(w.first)
}

func (w *witness) cut(target Target) string {
	return fmt.Sprintf("accepted the connection on %s and reset it %s", target.Address, w.when())
}

func (w *witness) when() string {
	if len(w.first) > 0 {
		return "in the middle of its answer"
	}
	return "without an answer"
}

// quote is how the answer began, fit for a message: the first line of it, as far as
// it is text. What follows is often another one each time: a date, a random number.
func (w *witness) quote() string {
	end := slices.IndexFunc(w.first, func(b byte) bool { return b < ' ' || b > '~' })
	if end < 0 {
		end = len(w.first)
	}
	if end == 0 {
		return "something that is no text"
	}
	return strconv.Quote(string(w.first[:end]))
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
