package protocol

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// clientsRequired is the variable with which a missing client program is a
// failure. CI sets it.
const clientsRequired = "CLIENTS_REQUIRED"

// clientTimeout is when a client counts as hanging. It is far more than any of
// them takes.
const clientTimeout = 2 * time.Minute

// TestRealClientsShowTheError runs the programs that people use, against a real
// listener, and wants the message on their screen.
func TestRealClientsShowTheError(t *testing.T) {
	tests := map[string]struct {
		kind    Kind // empty: detected
		program string
		debian  string // the package that has the program
		// command to run in a shell, which finds HOST and PORT in its environment.
		command string
		exit    int
		says    string // all that is said, on both outputs
	}{
		"psql": {
			program: "psql", debian: "postgresql-client",
			command: `psql "host=$HOST port=$PORT user=shop dbname=shop" -c 'SELECT 1'`,
			exit:    2,
			says: `^psql: error: connection to server at "127.0.0.1", port \d+ failed: ` +
				"FATAL:  " + testMessage + "\nHINT:  " + postgreSQLHint + "\n$",
		},
		// Of all errors at this point, libpq goes on to another host after 57P03 only.
		"psql, with two hosts, tries both": {
			program: "psql", debian: "postgresql-client",
			command: `psql "host=$HOST,$HOST port=$PORT user=shop dbname=shop" -c 'SELECT 1'`,
			exit:    2,
			says:    "(?s)^psql: error: connection .*FATAL:  " + testMessage + ".*connection .*FATAL:  " + testMessage,
		},
		"psql, insisting on encryption": {
			program: "psql", debian: "postgresql-client",
			command: `psql "host=$HOST port=$PORT user=shop dbname=shop sslmode=require" -c 'SELECT 1'`,
			exit:    2,
			says:    `server does not support SSL, but SSL was required\n$`,
		},
		"pg_isready": {
			program: "pg_isready", debian: "postgresql-client",
			command: `pg_isready -h "$HOST" -p "$PORT"`,
			exit:    1, // the server rejects connections; 2 would be no answer
			says:    "rejecting connections\n$",
		},
		"mariadb": {
			kind: MySQL, program: "mariadb", debian: "mariadb-client",
			command: `mariadb --no-defaults --skip-ssl -h "$HOST" -P "$PORT" -u shop -e 'SELECT 1'`,
			exit:    1,
			says:    `^ERROR 1053 \(\w+\): ` + testMessage + "\n$",
		},
		// Newer ones wrap what they hear before TLS, as it may come from anybody.
		"mariadb, preferring encryption": {
			kind: MySQL, program: "mariadb", debian: "mariadb-client",
			command: `mariadb --no-defaults --ssl -h "$HOST" -P "$PORT" -u shop -e 'SELECT 1'`,
			exit:    1,
			says:    `^ERROR .*\b1053\b.*` + testMessage + "\n$",
		},
		"mariadb-admin ping": {
			kind: MySQL, program: "mariadb-admin", debian: "mariadb-client",
			command: `mariadb-admin --no-defaults -h "$HOST" -P "$PORT" -u shop ping`,
			exit:    1,
			says:    testMessage,
		},
		"redis-cli": {
			program: "redis-cli", debian: "redis-tools",
			command: `redis-cli -h "$HOST" -p "$PORT" GET key`,
			says:    "^LOADING " + testMessage + "\n+$",
		},
		"redis-cli, which is to fail on errors": {
			program: "redis-cli", debian: "redis-tools",
			command: `redis-cli -e -h "$HOST" -p "$PORT" GET key`,
			exit:    1,
			says:    "^LOADING " + testMessage + "\n+$",
		},
		"redis-cli, with a password and the newer protocol": {
			program: "redis-cli", debian: "redis-tools",
			command: `redis-cli -3 --no-auth-warning -a secret -h "$HOST" -p "$PORT" GET key`,
			says:    "LOADING " + testMessage,
		},
		"redis-cli, with a pipeline": {
			program: "redis-cli", debian: "redis-tools",
			command: `printf '*1\r\n$4\r\nPING\r\n' | redis-cli --pipe -h "$HOST" -p "$PORT"`,
			exit:    1,
			says:    "LOADING " + testMessage,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			needProgram(t, test.program, test.debian)
			host, port, err := net.SplitHostPort(listen(t, test.kind, testMessage))
			g.Expect(err).NotTo(HaveOccurred())

			ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
			defer cancel()
			command := exec.CommandContext(ctx, "sh", "-c", test.command)
			command.Env = append(os.Environ(), "HOST="+host, "PORT="+port, "LC_ALL=C.UTF-8", "HOME="+t.TempDir())
			output, err := command.CombinedOutput()
			t.Logf("%s: %v\n%s", test.command, err, output)

			g.Expect(ctx.Err()).NotTo(HaveOccurred(), "it hangs")
			g.Expect(command.ProcessState.ExitCode()).To(Equal(test.exit))
			g.Expect(string(output)).To(MatchRegexp(test.says))
		})
	}
}

// needProgram skips a test whose program is missing; where programs are required,
// it fails.
func needProgram(t *testing.T, program, debian string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	const reason = "%s is missing: apt-get install %s"
	if os.Getenv(clientsRequired) != "" {
		t.Fatalf(reason+" (%s is set)", program, debian, clientsRequired)
	}
	t.Skipf(reason, program, debian)
}

// TestTLSOfGoShowsTheAlert is about the one real client that is always there.
func TestTLSOfGoShowsTheAlert(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(tls.VersionName(version), func(t *testing.T) {
			g := NewWithT(t)
			dialer := &tls.Dialer{Config: &tls.Config{ServerName: "shop", MinVersion: version, MaxVersion: version}}
			_, err := dialer.DialContext(t.Context(), "tcp", listen(t, "", testMessage))
			g.Expect(err).To(MatchError("remote error: tls: internal error"))
		})
	}
}
