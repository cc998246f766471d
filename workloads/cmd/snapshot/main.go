// Command snapshot stores and restores snapshots of etcd, in Pods that the operator makes. It has no
// client of the API server: it reports by the message with which its container ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/critical-service/operator/workloads/internal/transfer"
	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

// maxMessage is how many bytes of a message the kubelet keeps.
const maxMessage = 4096

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet("snapshot", flag.ExitOnError)
	report := flags.String("report", "/dev/termination-log", "file for the result, or for what is wrong")
	done, err := run(ctx, flags, os.Args[1:])
	message := []byte{}
	if err == nil {
		message, err = json.Marshal(done)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		message = []byte(err.Error())
	}
	if failed := os.WriteFile(*report, message[:min(len(message), maxMessage)], 0o600); failed != nil { //nolint:gosec // The operator names the file.
		err = errors.Join(err, failed)
	}
	if err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, flags *flag.FlagSet, arguments []string) (*result.Result, error) {
	if len(arguments) == 0 {
		return nil, errors.New("usage: snapshot fetch|receive|finish FLAGS")
	}
	var target transfer.Target
	flags.StringVar(&target.Folder, "folder", "", "folder of the snapshot")
	flags.StringVar(&target.Name, "name", "snapshot.db", "name of its file; with --keep, what the name begins with")
	flags.IntVar(&target.Keep, "keep", 0, "how many snapshots of the name are kept; 0 has one file of that name")
	left := flags.String("clear", "", "folder of data that a failed restore has left, which is deleted first")
	tls := flags.String("tls", "", "folder with ca.crt, tls.crt and tls.key; empty is without TLS")
	endpoint := flags.String("endpoint", "", "fetch: the URL of the cluster")
	patience := flags.Duration("patience", time.Minute, "fetch: how long what fails is tried again")
	listen := flags.String("listen", ":2382", "receive: the address to listen on")
	most := flags.Int64("most", 0, "receive: the most bytes that are taken")
	if err := flags.Parse(arguments[1:]); err != nil {
		return nil, err
	}
	if target.Folder == "" {
		return nil, errors.New("--folder must name a folder")
	}
	if *left != "" {
		if err := os.RemoveAll(*left); err != nil {
			return nil, err
		}
	}
	certificates, err := transfer.Certificates(*tls)
	if err != nil {
		return nil, err
	}
	switch arguments[0] {
	case "fetch":
		return transfer.Fetch(ctx, transfer.Source{Endpoint: *endpoint, TLS: certificates}, target, *patience)
	case "receive":
		at, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
		if err != nil {
			return nil, err
		}
		return transfer.Receive(ctx, at, certificates, target, *most)
	case "finish":
		return transfer.Finish(filepath.Join(target.Folder, target.Name))
	default:
		return nil, fmt.Errorf("%q is none of fetch, receive and finish", arguments[0])
	}
}
