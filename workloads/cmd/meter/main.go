// Command meter counts the HTTP requests of a WebApp's Pod, in front of the application. It has no
// client of the API server.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/critical-service/operator/workloads/internal/meter"
	"github.com/critical-service/operator/workloads/internal/metering"
)

func main() {
	port := flag.Int("app-port", 80, "port of the application, on 127.0.0.1")
	drain := flag.Duration("drain", 20*time.Second, "how long requests are taken after the end was asked for")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := meter.New(meter.Options{
		Listen:  net.JoinHostPort("", strconv.Itoa(metering.Port)),
		Metrics: net.JoinHostPort("", strconv.Itoa(metering.MetricsPort)),
		App:     net.JoinHostPort("127.0.0.1", strconv.Itoa(*port)),
		Drain:   *drain, Log: slog.Default(),
	}).Run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}
