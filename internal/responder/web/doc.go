// Package web answers HTTP requests in the place of a Service that has no Pod
// left. A Site is what one port answers:
//
//	gRPC                    trailers-only UNAVAILABLE with RetryInfo; its health
//	                        service says NOT_SERVING
//	gRPC-Web                the same over any version of HTTP
//	a probe                 200, by path or user agent
//	a CORS preflight        204 with the team's headers, so that a browser lets
//	                        the script see the real answer
//	a file of the team      GET and HEAD. An asset (a picture, a style sheet) gets
//	                        200, since the page is nothing without it; another HTML
//	                        page gets the status code of the outage
//	everything else         the page, with the status code of the outage, as HTML,
//	                        problem+json or text by Accept; what is for people, in
//	                        their language
//
// Every answer says Cache-Control: no-store, so that nothing of an outage lasts
// longer than the outage, and Connection: close (for HTTP/2: GOAWAY), so that no
// client stays with the fallback when the real Pods are back.
//
// The answer never waits for the body of the request. Only prior knowledge leads
// to HTTP/2; a request to upgrade to h2c is answered over HTTP/1.1, as RFC 9113
// lets a server do.
package web
