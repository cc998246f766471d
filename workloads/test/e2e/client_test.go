//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// What clients are and say: the programs that people use, and for MongoDB also a driver.

const (
	// patience is how long a client that does not answer is waited for: longer than it waits itself.
	patience = 20 * time.Second
	// mark ends what a client says to one question.
	mark = "-- end --"
	// fine is the answer of a database that answers.
	fine = "ok"
)

// dialect is how one engine is talked to.
type dialect struct {
	// write and read are statements; NAME stands for what is written. All that was written is read as one line each.
	write, read string
	// once is the program that runs one statement.
	once func(uri *url.URL, statement string) []string
	// lasting is the program that lives through outages: for each line of its standard input it asks the database, and
	// says fine, or what is wrong, and then the mark.
	lasting func(uri *url.URL) []string
	// refused is what a client says that the responder has answered.
	refused string
}

var dialects = map[workloadsv1.DatabaseType]dialect{
	workloadsv1.DatabaseMongo: {
		write: `db.getSiblingDB("shop").items.insertOne({name: "NAME"}).acknowledged`,
		read:  `db.getSiblingDB("shop").items.find().sort({name: 1}).toArray().map(item => item.name).join("\n")`,
		once: func(uri *url.URL, statement string) []string {
			return []string{filepath.Join(mongoDB, "mongosh"), "--quiet", "--norc", uri.String(), "--eval", statement}
		},
		lasting: func(uri *url.URL) []string {
			const program = `"$0" "$1" | while read -r line; do echo "$line"; echo "` + mark + `"; done`
			return []string{"sh", "-c", program, filepath.Join(mongoDB, "client-go"), uri.String() + "&serverSelectionTimeoutMS=3000&heartbeatFrequencyMS=500"}
		},
		refused: `\(ShutdownInProgress\)`,
	},
	workloadsv1.DatabaseMySQL: {
		write: `CREATE DATABASE IF NOT EXISTS shop; CREATE TABLE IF NOT EXISTS shop.items (name TEXT); INSERT INTO shop.items VALUES ('NAME')`,
		read:  `SELECT name FROM shop.items ORDER BY name`,
		once: func(uri *url.URL, statement string) []string {
			return append(mariadb(uri), "--execute="+statement)
		},
		lasting: func(uri *url.URL) []string { return eachTime(append(mariadb(uri), "--execute=SELECT '"+fine+"'")) },
		refused: `^ERROR 1053 `,
	},
	workloadsv1.DatabasePostgres: {
		write: `SET client_min_messages = warning; CREATE TABLE IF NOT EXISTS items (name TEXT); INSERT INTO items VALUES ('NAME')`,
		read:  `SELECT name FROM items ORDER BY name`,
		once: func(uri *url.URL, statement string) []string {
			return append(psql(uri), "--command="+statement)
		},
		lasting: func(uri *url.URL) []string {
			twice := *uri
			twice.Host += "," + uri.Host
			return eachTime(append(psql(&twice), "--command=SELECT '"+fine+"'"))
		},
		// It shows no SQLSTATE of a connection that fails; but of all errors, it goes on to the next host after 57P03 only.
		refused: `(?s)FATAL:  ` + sentence + `.*FATAL:  ` + sentence,
	},
}

// eachTime is a program that asks with a new client each time: these end with their connection.
func eachTime(client []string) []string {
	return append([]string{"sh", "-c", `while read -r _; do "$0" "$@" </dev/null; echo "` + mark + `"; done`}, client...)
}

func psql(uri *url.URL) []string {
	return []string{"psql", uri.String(), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align"}
}

func mariadb(uri *url.URL) []string {
	return []string{
		"mariadb", "--no-defaults", "--skip-ssl", "--batch", "--skip-column-names", "--connect-timeout=5",
		"--host=" + uri.Hostname(), "--port=" + uri.Port(), "--user=" + uri.User.Username(),
	}
}

// program makes a command of a client.
func (w *world) program(ctx context.Context, uri *url.URL, arguments []string) *exec.Cmd {
	w.t.Helper()
	command := exec.CommandContext(ctx, arguments[0], arguments[1:]...)
	password, _ := uri.User.Password()
	command.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "HOME="+w.t.TempDir(), "PGCONNECT_TIMEOUT=5", "MYSQL_PWD="+password)
	return command
}

// run runs one statement, as the user of a URI.
func (d *database) run(uri *url.URL, statement string) (output string, err error) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	text, err := d.program(ctx, uri, dialects[d.object.Spec.Type].once(uri, statement)).CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

// write writes a name into the database. Until kube-proxy has followed, a connection may still lead to the responder, which
// refuses it.
func (d *database) write(name string) {
	d.t.Helper()
	uri, statement := d.uri(), strings.ReplaceAll(dialects[d.object.Spec.Type].write, "NAME", name)
	d.Eventually(func(g Gomega) {
		output, err := d.run(uri, statement)
		g.Expect(err).NotTo(HaveOccurred(), output)
	}).Should(Succeed(), "write into Database %s", d.object.Name)
}

// holds waits until exactly these names are read: kube-proxy follows a new Pod a moment later.
func (d *database) holds(names ...string) {
	d.t.Helper()
	uri := d.uri()
	d.Eventually(func() string {
		output, _ := d.run(uri, dialects[d.object.Spec.Type].read)
		return output
	}).Should(Equal(strings.Join(names, "\n")), "what is written in Database %s", d.object.Name)
}

// conversation is one client that goes on asking.
type conversation struct {
	*world
	in    io.Writer
	lines <-chan string
	// refused is what the client says that the responder has answered.
	refused string
}

// talk starts a client, which lives as long as the scenario.
func (d *database) talk() *conversation {
	d.t.Helper()
	uri, spoken := d.uri(), dialects[d.object.Spec.Type]
	command := d.program(d.ctx, uri, spoken.lasting(uri))
	in, err := command.StdinPipe()
	d.Expect(err).NotTo(HaveOccurred())
	out, err := command.StdoutPipe()
	d.Expect(err).NotTo(HaveOccurred())
	command.Stderr = command.Stdout
	d.Expect(command.Start()).To(Succeed())
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	d.t.Cleanup(func() {
		// It ends with its input. What it says now does not matter.
		_ = in.Close()
		for range lines {
		}
		_ = command.Wait()
	})
	return &conversation{d.world, in, lines, spoken.refused}
}

// asks is what the client says to one question.
func (c *conversation) asks() string {
	c.t.Helper()
	_, err := io.WriteString(c.in, "\n")
	c.Expect(err).NotTo(HaveOccurred(), "the client has ended")
	var said []string
	timeout := time.After(patience)
	for {
		select {
		case line, more := <-c.lines:
			if !more {
				c.t.Fatalf("the client has ended; it said: %s", said)
			}
			if line == mark {
				return strings.Join(said, "\n")
			}
			said = append(said, line)
		case <-timeout:
			c.t.Fatalf("the client hangs; it said: %s", said)
		}
	}
}

func (c *conversation) isAnswered() {
	c.t.Helper()
	c.Eventually(c.asks).Should(Equal(fine))
}

func (c *conversation) isRefused() {
	c.t.Helper()
	c.Eventually(c.asks).Should(MatchRegexp(c.refused))
}
