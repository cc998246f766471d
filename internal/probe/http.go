package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/critical-service/operator/internal/contract/appprotocol"
)

// headerLimit bounds the header of an answer.
const headerLimit = 64 << 10

// grpcMethod is one that no server has: what answers is the server itself, and
// nothing happens.
const grpcMethod = "/criticalservice.SelfTest/Ask"

func askHTTP(ctx context.Context, conn *recorder, target Target) (string, error) {
	request, err := newRequest(ctx, http.MethodGet, "/", target, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", "text/html")
	answer, err := exchange(conn, request, target.Protocol)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(answer.status), nil
}

// askGRPC calls as a client does, but without its library: that reports by the
// same codes what the server said, and that there is no server.
func askGRPC(ctx context.Context, conn *recorder, target Target) (string, error) {
	// A frame without a message in it.
	request, err := newRequest(ctx, http.MethodPost, grpcMethod, target, bytes.NewReader(make([]byte, 5)))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	answer, err := exchange(conn, request, target.Protocol)
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseInt(answer.grpcStatus, 10, 32)
	if err != nil {
		return "", fmt.Errorf("HTTP status %d and no grpc-status", answer.status)
	}
	if name, known := code.Code_name[int32(number)]; known {
		return name, nil
	}
	return answer.grpcStatus, nil
}

func newRequest(ctx context.Context, method, path string, target Target, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+target.Address+path, body)
	if err != nil {
		return nil, err
	}
	request.Host = target.Host
	request.Header.Set("User-Agent", agent())
	return request, nil
}

// answer is what is looked at of an HTTP response.
type answer struct {
	status     int
	grpcStatus string
}

// exchange sends a request over a connection that is open already, and reads the
// answer to its end, or as far as is read of any server. It follows no
// redirection.
func exchange(conn *recorder, request *http.Request, protocol appprotocol.Protocol) (answer, error) {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(protocol == appprotocol.HTTP)
	protocols.SetUnencryptedHTTP2(protocol != appprotocol.HTTP)
	free := make(chan net.Conn, 1)
	free <- conn
	transport := &http.Transport{
		Protocols: protocols, DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: headerLimit,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case only := <-free:
				return only, nil
			default:
				return nil, errors.New("the server gave up the connection")
			}
		},
	}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil && !errors.Is(err, errReadLimit) {
		return answer{}, err
	}
	// The status of a call is in the trailers, or in the header if there is no answer.
	status := response.Header.Get("Grpc-Status") + response.Trailer.Get("Grpc-Status")
	return answer{response.StatusCode, status}, nil
}

func beginsHTTP(first []byte) bool { return hasPrefix(first, "HTTP/1.") }

// beginsHTTP2 looks for the frame of settings with which a server has to begin:
// three bytes of length, and the type.
func beginsHTTP2(first []byte) bool {
	const settings, header = 4, 9
	return len(first) < header || first[3] == settings && first[0] == 0
}

// hasPrefix reports whether bytes are a prefix, or the beginning of it.
func hasPrefix(first []byte, prefix string) bool {
	n := min(len(first), len(prefix))
	return string(first[:n]) == prefix[:n]
}
