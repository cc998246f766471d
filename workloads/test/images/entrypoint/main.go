// Program entrypoint is process 1 of the test images of databases. It reads the variables of
// the official images, prepares an empty volume, and becomes the engine that ENGINE names.
// It needs nothing but the volume: the rest of the file system may be read-only.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// engine is a server that is about to run.
type engine struct {
	// program is its path, followed by its arguments.
	program []string
	// variables are added to the environment.
	variables []string
}

// engines prepare the volume, if that is due. Arguments of the container are the server's, as
// with the official images.
var engines = map[string]func(get func(string) string, arguments []string) (engine, error){"mongo": mongo, "mysql": mysql, "postgres": postgres}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "entrypoint:", err)
		os.Exit(1)
	}
}

func run() error {
	prepare, known := engines[os.Getenv("ENGINE")]
	if !known {
		return fmt.Errorf("ENGINE is %q: it has to be mongo, mysql or postgres", os.Getenv("ENGINE"))
	}
	server, err := prepare(os.Getenv, os.Args[1:])
	if err != nil {
		return err
	}
	arguments := slices.Concat(server.program, os.Args[1:])
	return syscall.Exec(server.program[0], arguments, append(os.Environ(), server.variables...))
}

// mongo is FerretDB with SQLite. It makes its user itself, if there is none.
func mongo(get func(string) string, _ []string) (engine, error) {
	server := engine{program: []string{"/ferretdb"}, variables: []string{
		"FERRETDB_HANDLER=sqlite", "FERRETDB_SQLITE_URL=file:/data/db/", "FERRETDB_STATE_DIR=/data/db",
		"FERRETDB_LISTEN_ADDR=:27017", "FERRETDB_DEBUG_ADDR=-", "FERRETDB_TELEMETRY=disable",
	}}
	name, password := get("MONGO_INITDB_ROOT_USERNAME"), get("MONGO_INITDB_ROOT_PASSWORD")
	switch {
	case name == "" && password == "":
	case name == "" || password == "":
		return engine{}, fmt.Errorf("MONGO_INITDB_ROOT_USERNAME and MONGO_INITDB_ROOT_PASSWORD: set both, or neither")
	default:
		server.variables = append(server.variables, "FERRETDB_TEST_ENABLE_NEW_AUTH=true",
			"FERRETDB_SETUP_DATABASE=admin", "FERRETDB_SETUP_USERNAME="+name, "FERRETDB_SETUP_PASSWORD="+password)
	}
	return server, nil
}

// feed runs a program with text as its input.
func feed(text, program string, arguments ...string) error {
	command := exec.Command(program, arguments...) //nolint:noctx // The container ends it.
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(text), os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
