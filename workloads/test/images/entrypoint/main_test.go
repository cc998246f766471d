package main

import (
	"testing"

	. "github.com/onsi/gomega"
)

// from is an environment.
func from(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestMongoHasTheUserOfItsVariables(t *testing.T) {
	tests := map[string]struct {
		variables map[string]string
		has       string // one of the server's variables
		err       string
	}{
		"no user, no login":             {has: "FERRETDB_TELEMETRY=disable"},
		"a user":                        {variables: map[string]string{"MONGO_INITDB_ROOT_USERNAME": "root", "MONGO_INITDB_ROOT_PASSWORD": "a b"}, has: "FERRETDB_SETUP_PASSWORD=a b"},
		"a user without password fails": {variables: map[string]string{"MONGO_INITDB_ROOT_USERNAME": "root"}, err: "set both, or neither"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server, err := mongo(from(test.variables), nil)
			if test.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(server.variables).To(ContainElement(test.has))
		})
	}
}

func TestMySQLHasTheUsersOfItsVariables(t *testing.T) {
	tests := map[string]struct {
		variables map[string]string
		has       []string
		err       string
	}{
		"root, from everywhere": {
			variables: map[string]string{"MYSQL_ROOT_PASSWORD": `se'cr\et`},
			has:       []string{`ALTER USER 'root'@'localhost' IDENTIFIED BY 'se''cr\\et';`, `CREATE USER 'root'@'%' IDENTIFIED BY 'se''cr\\et';`},
		},
		"a user with a database": {
			variables: map[string]string{"MYSQL_ROOT_PASSWORD": "x", "MYSQL_DATABASE": "my`shop", "MYSQL_USER": "me", "MYSQL_PASSWORD": "mine"},
			has:       []string{"CREATE DATABASE `my``shop`;", "CREATE USER 'me'@'%' IDENTIFIED BY 'mine';", "GRANT ALL ON `my``shop`.* TO 'me'@'%';"},
		},
		"no password fails":             {err: "MYSQL_ROOT_PASSWORD is not set"},
		"a user without password fails": {variables: map[string]string{"MYSQL_ROOT_PASSWORD": "x", "MYSQL_USER": "me"}, err: "set both, or neither"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			statements, err := mysqlUsers(from(test.variables))
			if test.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			for _, statement := range test.has {
				g.Expect(statements).To(ContainSubstring(statement + "\n"))
			}
		})
	}
}
