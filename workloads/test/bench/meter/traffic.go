package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/critical-service/operator/test/prober"
)

// requestLimit is how long a request may take: one that fails makes the figures worthless.
const requestLimit = 10 * time.Second

// steadily sends requests at a fixed rate until the context ends, and says how long each took.
func steadily(ctx context.Context, url string, rate int) (latencies []time.Duration, err error) {
	var failed error
	probe := prober.Prober{URL: url, Rate: rate, Timeout: requestLimit, KeepAlive: true}
	err = probe.Run(ctx, func(r prober.Result) {
		latencies = append(latencies, r.Latency)
		if r.Status != http.StatusOK && failed == nil {
			failed = fmt.Errorf("request %d failed: status %d %s %s", r.N+1, r.Status, r.Fault, r.Detail)
		}
	})
	return latencies, errors.Join(err, failed)
}

// flood sends as many requests as some connections can, until the context ends, and counts them.
func flood(ctx context.Context, url string, connections int) (requests int, err error) {
	transport := &http.Transport{MaxIdleConnsPerHost: connections}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: requestLimit}
	// What is under way at the end is counted, too.
	background := context.WithoutCancel(ctx)
	var answered atomic.Int64
	senders, ctx := errgroup.WithContext(ctx)
	for range connections {
		senders.Go(func() error {
			for ctx.Err() == nil {
				if err := get(background, client, url); err != nil {
					return err
				}
				answered.Add(1)
			}
			return nil
		})
	}
	err = senders.Wait()
	return int(answered.Load()), err
}

func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}
