package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// mysqlData is where the data is, unless an argument says otherwise.
const mysqlData, mysqlDataArgument = "/var/lib/mysql", "--datadir="

// mysqlTables makes the system's tables, in this order (mariadb-install-db).
var mysqlTables = []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"}

// mysql is MariaDB.
func mysql(get func(string) string, arguments []string) (engine, error) {
	data := mysqlData
	for _, argument := range arguments {
		if path, is := strings.CutPrefix(argument, mysqlDataArgument); is {
			data = path
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil { // As the official image does.
		return engine{}, err
	}
	server := []string{
		"/usr/sbin/mariadbd", "--no-defaults", mysqlDataArgument + data, "--tmpdir=" + data,
		"--lc-messages-dir=/usr/share/mysql", "--plugin-dir=/usr/lib/mysql/plugin",
	}
	if !exists(data + "/mysql") {
		statements, err := mysqlUsers(get)
		if err != nil {
			return engine{}, err
		}
		tables, err := mysqlSystem()
		if err != nil {
			return engine{}, err
		}
		if err := feed(tables+statements, server[0], append(server[1:], "--bootstrap", "--skip-log-bin")...); err != nil {
			return engine{}, err
		}
	}
	return engine{program: append(server, "--bind-address=*", "--port=3306", "--socket="+data+"/mysqld.sock", "--pid-file="+data+"/mysqld.pid")}, nil
}

func mysqlSystem() (string, error) {
	parts := []string{"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;"}
	for _, name := range mysqlTables {
		content, err := os.ReadFile("/usr/share/mysql/" + name)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(content))
	}
	return strings.Join(parts, "\n") + "\n", nil
}

// mysqlUsers are the statements that make the users and the database of the variables.
func mysqlUsers(get func(string) string) (string, error) {
	root, database, user, password := get("MYSQL_ROOT_PASSWORD"), get("MYSQL_DATABASE"), get("MYSQL_USER"), get("MYSQL_PASSWORD")
	switch {
	case root == "" && get("MYSQL_ALLOW_EMPTY_PASSWORD") == "":
		return "", errors.New("MYSQL_ROOT_PASSWORD is not set")
	case (user == "") != (password == ""):
		return "", errors.New("MYSQL_USER and MYSQL_PASSWORD: set both, or neither")
	}
	statements := []string{
		"FLUSH PRIVILEGES",
		"DELETE FROM mysql.global_priv WHERE User = ''",
		"FLUSH PRIVILEGES",
		"ALTER USER 'root'@'localhost' IDENTIFIED BY " + sqlText(root),
		"CREATE USER 'root'@'%' IDENTIFIED BY " + sqlText(root),
		"GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION",
	}
	if database != "" {
		statements = append(statements, "CREATE DATABASE "+sqlName(database))
	}
	if user != "" {
		statements = append(statements, fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY %s", sqlText(user), sqlText(password)))
	}
	if user != "" && database != "" {
		statements = append(statements, fmt.Sprintf("GRANT ALL ON %s.* TO %s@'%%'", sqlName(database), sqlText(user)))
	}
	return strings.Join(statements, ";\n") + ";\n", nil
}

// sqlText is a string of SQL, in which MySQL reads backslashes.
func sqlText(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(value) + "'"
}

func sqlName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
