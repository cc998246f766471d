package main

import (
	"errors"
	"os"
	"strings"
)

const postgresPrograms = "/usr/lib/postgresql/15/bin/"

// postgres is PostgreSQL.
func postgres(get func(string) string, _ []string) (engine, error) {
	data := otherwise(get("PGDATA"), "/var/lib/postgresql/data")
	if !exists(data + "/PG_VERSION") {
		if err := makeCluster(data, get); err != nil {
			return engine{}, err
		}
	}
	return engine{program: []string{
		postgresPrograms + "postgres", "-D", data, "-c", "listen_addresses=*", "-c", "unix_socket_directories=" + data, "-c", "dynamic_shared_memory_type=mmap",
	}}, nil
}

func makeCluster(data string, get func(string) string) error {
	password, user := get("POSTGRES_PASSWORD"), otherwise(get("POSTGRES_USER"), "postgres")
	database := otherwise(get("POSTGRES_DB"), user)
	if password == "" {
		return errors.New("POSTGRES_PASSWORD is not set")
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	// The password is read from the input: a file would need a folder to write to.
	if err := feed(password+"\n", postgresPrograms+"initdb", "-D", data, "--username="+user, "--pwfile=/dev/stdin",
		"--encoding=UTF8", "--locale=C.UTF-8", "--auth-local=trust", "--auth-host=scram-sha-256"); err != nil {
		return err
	}
	access, err := os.OpenFile(data+"/pg_hba.conf", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = access.WriteString("host all all all scram-sha-256\n") //nolint:dupword // Its columns.
	if err := errors.Join(err, access.Close()); err != nil {
		return err
	}
	if database == "postgres" {
		return nil
	}
	return feed(`CREATE DATABASE "`+strings.ReplaceAll(database, `"`, `""`)+"\"\n", postgresPrograms+"postgres", "--single", "-D", data, "postgres")
}

func otherwise(value, other string) string {
	if value == "" {
		return other
	}
	return value
}
