// Package probe asks one address in the protocol of a Service's port, as a client
// of it would, and reports what it saw. The operator's self-test, the drill and the
// doctor of the plugin ask through it.
//
// It sends the least that a server of the protocol has to answer: an HTTP
// GET, a call of gRPC, the startup packet of PostgreSQL, a PING of Redis, a hello of
// MongoDB. MySQL's server speaks first, and of an unknown protocol only the connection is looked
// at. Whatever the server answers is an answer, an error as much as any other: the
// fallback of a Service answers that the Service is not available.
//
// A question uses one connection, and bounded time and memory.
package probe
