// Package responder is the server that answers in place of Services that have no
// Pod left.
//
//	main ─▶ Run ─┬─▶ admin          /healthz /readyz /metrics
//	             ├─▶ live.Table     which port answers what; follows the mounted files
//	             └─▶ server         one listener for every port of the range
//	                   │ accept, share the places (gate), look at the first bytes (open)
//	                   ├─▶ web.Site          HTTP/1.1, HTTP/2, gRPC
//	                   └─▶ protocol.Refuse   PostgreSQL, MySQL, Redis, MongoDB, TLS, others
//
// It listens on all ports of its range from the start, and is ready only when
// all of them are bound: a port that the operator assigns later answers already.
// It knows no API server, needs no token, and depends on nothing but its files.
//
// When its context ends it reports at once that it is not ready, and goes on
// answering while the proxies of all nodes follow (--drain). It needs one file
// descriptor for each listener and each connection; if the process may not have
// that many, it takes fewer connections, and logs that.
package responder
