package protocol

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

const (
	// redisSession is how long commands are answered. It is short: a client that
	// connects again finds the real server as soon as there is one.
	redisSession = 2 * time.Second
	// redisCommands is how many are answered. Pipelines are long.
	redisCommands = 10000

	// The server's own limits.
	redisArguments = 1 << 20
	redisArgument  = 512 << 20

	quit = "QUIT"
)

// errRedisSyntax is about bytes that are no command.
var errRedisSyntax = errors.New("the client sends no command of Redis")

// refuseRedis answers every command with a LOADING error, which a server gives
// while it starts, and for which clients try again; but a QUIT as it is usual.
func refuseRedis(ctx context.Context, peer *client, message string) error {
	ctx, cancel := context.WithTimeout(ctx, redisSession)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = peer.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	refusal := "-LOADING " + message + "\r\n"
	for range redisCommands {
		name, err := readCommand(peer.in)
		reply := refusal
		switch {
		case errors.Is(err, errRedisSyntax):
			reply = "-ERR Protocol error\r\n"
		case err != nil && peer.left.N > 0:
			return ignoreEnd(err)
		case err != nil:
			// A command that is too long to be read is refused unread.
			err = io.EOF
		case name == "":
			continue
		case name == quit:
			reply, err = "+OK\r\n", io.EOF
		}
		if _, writeErr := peer.out.WriteString(reply); writeErr != nil {
			return writeErr
		}
		if err != nil {
			return ignoreEnd(err)
		}
	}
	return nil
}

// ignoreEnd drops the ends of a session that are in order.
func ignoreEnd(err error) error {
	if hasLeft(err) || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// readCommand reads one command to its end, and gives its name in capitals if it
// is short, else a stand-in. The name is empty if there is no command, which is
// allowed and gets no answer. The error is io.EOF only between commands.
func readCommand(in *bufio.Reader) (string, error) {
	line, err := readLine(in)
	switch {
	case err != nil:
		return "", err
	case !bytes.HasPrefix(line, []byte("*")):
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			return "", nil
		}
		return capitals(fields[0]), nil
	}
	count, err := parseLength(line[1:], redisArguments)
	if err != nil {
		return "", err
	}
	name := ""
	for i := range count {
		argument, err := readArgument(in)
		if err != nil {
			return "", cutShort(err)
		}
		if i == 0 {
			name = argument
		}
	}
	return name, nil
}

// readArgument reads an argument. It gives those that may be a QUIT, in capitals,
// and a stand-in for all others.
func readArgument(in *bufio.Reader) (string, error) {
	line, err := readLine(in)
	switch {
	case err != nil:
		return "", err
	case !bytes.HasPrefix(line, []byte("$")):
		return "", fmt.Errorf("%w: %q is not the length of an argument", errRedisSyntax, line)
	}
	length, err := parseLength(line[1:], redisArgument)
	if err != nil {
		return "", err
	}
	argument := "?"
	if length == len(quit) {
		text, err := in.Peek(length)
		if err != nil {
			return "", err
		}
		argument = capitals(text)
	}
	_, err = in.Discard(length + len("\r\n"))
	return argument, err
}

// readLine reads a line, whose length the buffer of in bounds. The line is valid
// until the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("%w: a line is longer than %d bytes", errRedisSyntax, bufferSize)
	case err != nil && len(line) > 0:
		return nil, cutShort(err)
	case err != nil:
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

func parseLength(digits []byte, limit int) (int, error) {
	length, err := strconv.Atoi(string(digits))
	if err != nil || length < 0 || length > limit {
		return 0, fmt.Errorf("%w: %q is not a length", errRedisSyntax, digits)
	}
	return length, nil
}
