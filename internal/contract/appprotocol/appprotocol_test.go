package appprotocol_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/appprotocol"
)

func TestOf(t *testing.T) {
	tests := map[string]struct {
		appProtocol, name string
		port              int32
		want              appprotocol.Protocol
	}{
		"nothing tells":                            {port: 9000, want: appprotocol.TCP},
		"the appProtocol tells":                    {appProtocol: "http", port: 9000, want: appprotocol.HTTP},
		"the appProtocol of Kubernetes tells":      {appProtocol: "kubernetes.io/h2c", port: 80, want: appprotocol.H2C},
		"its case does not matter":                 {appProtocol: "GRPC", want: appprotocol.GRPC},
		"a web socket begins as HTTP":              {appProtocol: "kubernetes.io/ws", want: appprotocol.HTTP},
		"the appProtocol is above name and number": {appProtocol: "amqp", name: "http", port: 80, want: appprotocol.TCP},
		"tcp says nothing":                         {appProtocol: "tcp", name: "http", want: appprotocol.HTTP},
		"HTTPS is TLS":                             {appProtocol: "https", port: 443, want: appprotocol.TLS},
		"the name tells":                           {name: "redis", want: appprotocol.Redis},
		"a word of the name tells":                 {name: "tcp-mysql-primary", want: appprotocol.MySQL},
		"the first word that tells is taken":       {name: "http-redis", want: appprotocol.HTTP},
		"gRPC-Web is not gRPC":                     {name: "grpc-web", want: appprotocol.HTTP},
		"the name is above the number":             {name: "grpc", port: 80, want: appprotocol.GRPC},
		"a name that says nothing leaves a number": {name: "public", port: 443, want: appprotocol.TLS},
		"mongo is MongoDB":                         {name: "tcp-mongo", want: appprotocol.MongoDB},
		"the number of MongoDB tells":              {port: 27017, want: appprotocol.MongoDB},
		"the number tells":                         {port: 5432, want: appprotocol.PostgreSQL},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var appProtocol *string
			if test.appProtocol != "" {
				appProtocol = &test.appProtocol
			}
			NewWithT(t).Expect(appprotocol.Of(appProtocol, test.port, test.name)).To(Equal(test.want))
		})
	}
}

func TestMayBeMySQL(t *testing.T) {
	tests := map[string]struct {
		appProtocol string
		port        int32
		portName    string
		want        bool
	}{
		"nothing is said":                              {"", 80, "", false},
		"an appProtocol goes before name and port":     {"http", 3306, "mysql", false},
		"an unknown appProtocol does so, too":          {"amqp", 3306, "mysql", false},
		"tcp says nothing, so that the name counts":    {"tcp", 80, "mysql", true},
		"tcp says nothing, so that the number counts":  {"TCP", 3306, "", true},
		"the name is the protocol":                     {"", 80, "mariadb", true},
		"the name begins with the protocol":            {"", 80, "mysql-primary", true},
		"the name ends with the protocol":              {"", 80, "tcp-mysql", true},
		"a word of the name merely begins as it":       {"", 80, "mysqlx", false},
		"the name of another protocol":                 {"", 80, "redis-commander", false},
		"the well-known port":                          {"", 3306, "", true},
		"the well-known port, whatever it is called":   {"", 3306, "http-web", true},
		"the well-known port of another protocol":      {"", 5432, "postgres-rw", false},
		"a name of an interface, for which bytes tell": {"", 80, "mysql-api", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(appprotocol.MayBeMySQL(test.appProtocol, test.port, test.portName)).To(Equal(test.want))
		})
	}
}
