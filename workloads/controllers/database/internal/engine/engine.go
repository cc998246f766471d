// Package engine is what there is to know of each engine, as data: all else treats them
// alike. It is pure.
package engine

import (
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// The keys of the Secret with the credentials.
const (
	KeyUsername = "username"
	KeyPassword = "password"
	KeyURI      = "uri"
)

// User is the number of the user, and of the group, that all three official images have
// for their engine.
const User int64 = 999

// Engine is one kind of database.
type Engine struct {
	// Port on which it listens, in the Pod and in the Service.
	Port int32
	// AppProtocol is by which the responder knows what to answer.
	AppProtocol string
	// Username of the administrator, where the Secret does not say another.
	Username string
	// UsernameVariable is by which the image takes the name; empty for an engine whose
	// administrator always has the same.
	UsernameVariable string
	// PasswordVariable is by which the image takes the password.
	PasswordVariable string
	// Variables are others that the image needs.
	Variables []corev1.EnvVar
	// DataPath is where the volume is mounted.
	DataPath string
	// Arguments are those of the server.
	Arguments []string
	// Probe reports whether the engine answers.
	Probe corev1.ProbeHandler
	// Version is the command by which the engine prints its version and ends: what it takes
	// to run here, without data.
	Version []string
	// scheme, path and query are of the URI by which clients connect.
	scheme, path, query string
}

// A probe by TCP fills the log of MySQL, and counts as an aborted connection; so does one
// of PostgreSQL. Both programs ask through TCP, since the server that an image starts to
// prepare an empty volume listens on a socket only.
//
//nolint:gosec // These are names of variables, and no passwords.
var engines = map[workloadsv1.DatabaseType]*Engine{
	workloadsv1.DatabaseMongo: {
		Port: 27017, AppProtocol: "mongodb",
		Username: "root", UsernameVariable: "MONGO_INITDB_ROOT_USERNAME", PasswordVariable: "MONGO_INITDB_ROOT_PASSWORD",
		DataPath: "/data/db",
		Probe:    corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(27017)}},
		Version:  []string{"mongod", "--version"},
		scheme:   "mongodb", path: "/", query: "authSource=admin",
	},
	workloadsv1.DatabaseMySQL: {
		Port: 3306, AppProtocol: "mysql",
		Username: "root", PasswordVariable: "MYSQL_ROOT_PASSWORD",
		// MySQL prepares an empty folder only, and a volume may have lost+found. A subPath
		// would be a folder that kubelet makes, and not the engine.
		DataPath: "/var/lib/mysql", Arguments: []string{"--datadir=/var/lib/mysql/data"},
		Probe:   run("mysqladmin", "ping", "--host=127.0.0.1", "--silent"),
		Version: []string{"mysqld", "--version"},
		scheme:  "mysql", path: "/",
	},
	workloadsv1.DatabasePostgres: {
		Port: 5432, AppProtocol: "postgresql",
		Username: "postgres", UsernameVariable: "POSTGRES_USER", PasswordVariable: "POSTGRES_PASSWORD",
		// PostgreSQL must own its folder, so that it makes one in the volume.
		Variables: []corev1.EnvVar{{Name: "PGDATA", Value: "/var/lib/postgresql/pgdata"}},
		DataPath:  "/var/lib/postgresql",
		Probe:     run("pg_isready", "--host=127.0.0.1", "--quiet"),
		Version:   []string{"postgres", "--version"},
		scheme:    "postgresql", path: "/postgres",
	},
}

func run(command ...string) corev1.ProbeHandler {
	return corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: command}}
}

// Of is the engine of a type; nil if there is none. The schema admits those that there are.
func Of(kind workloadsv1.DatabaseType) *Engine { return engines[kind] }

// ListensOn reports whether a port is that of an engine.
func ListensOn(port int32) bool {
	for _, engine := range engines {
		if engine.Port == port {
			return true
		}
	}
	return false
}

// Keys are those that a Secret with the credentials must have.
func (e *Engine) Keys() []string {
	if e.UsernameVariable == "" {
		return []string{KeyPassword}
	}
	return []string{KeyUsername, KeyPassword}
}

// URI is by which a client connects to the engine at a host name.
func (e *Engine) URI(host, username, password string) string {
	uri := url.URL{Scheme: e.scheme, User: url.UserPassword(username, password), Host: host, Path: e.path, RawQuery: e.query}
	return uri.String()
}
