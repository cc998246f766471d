package view

import (
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/critical-service/operator/workloads/internal/apiserver/wire"
)

// Lasting serves watches for as long as they may take. The server gives other requests less time, for
// reading and for writing.
func Lasting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, found := request.RequestInfoFrom(r.Context()); found && info.Verb == "watch" {
			control, end := http.NewResponseController(w), time.Now().Add(wire.Longest)
			control.SetReadDeadline(end)  //nolint:errcheck // Then its limit stays.
			control.SetWriteDeadline(end) //nolint:errcheck // As above.
		}
		next.ServeHTTP(w, r)
	})
}
