// Package realnames runs a program for which the real names of registries lead to
// the cluster's own, over TLS that it trusts. Nothing else on the machine notices.
package realnames

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// reachable returns the names that a hosts file can lead elsewhere, sorted: not
// those with a port, which is another than this one's, and not the machine itself.
func reachable(names []string) []string {
	sorted := slices.Compact(slices.Sorted(slices.Values(names)))
	return slices.DeleteFunc(sorted, func(name string) bool { return name == "localhost" || strings.Contains(name, ":") })
}

// hostsFile returns a hosts file in which the names have an address. What the
// machine's own says of them does not count any more: the first line wins.
func hostsFile(machine, address string, names []string) string {
	return fmt.Sprintf("# devcluster: the registries whose images the cluster has.\n%s %s\n%s", address, strings.Join(names, " "), machine)
}

// trustVariable names the file of the authorities that Go, OpenSSL and what is
// built on them trust.
const trustVariable = "SSL_CERT_FILE"

// bundles are where distributions keep the authorities that everybody else trusts.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// trusted returns the authorities that a program trusts so far. A machine without
// any is no error: then the cluster's is the only one.
func trusted(chosen string) ([]byte, error) {
	if chosen != "" {
		return os.ReadFile(chosen)
	}
	for _, file := range bundles {
		if content, err := os.ReadFile(file); err == nil {
			return content, nil
		}
	}
	return nil, nil
}

// environment returns what the command's environment has to be: it trusts the
// bundle, and no proxy is asked for the names.
func environment(machine []string, bundle string, names []string) []string {
	changed := withVariable(machine, trustVariable, bundle)
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		direct := strings.Join(names, ",")
		if existing := valueOf(machine, name); existing != "" {
			direct = existing + "," + direct
		}
		changed = withVariable(changed, name, direct)
	}
	return changed
}

func withVariable(environment []string, name, value string) []string {
	kept := slices.DeleteFunc(slices.Clone(environment), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	return append(kept, name+"="+value)
}

func valueOf(environment []string, name string) string {
	for _, kv := range environment {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// join puts certificates one after the other, each on lines of its own.
func join(certificates ...[]byte) []byte {
	var all []byte
	for _, content := range certificates {
		if len(content) > 0 && content[len(content)-1] != '\n' {
			content = append(slices.Clone(content), '\n')
		}
		all = append(all, content...)
	}
	return all
}
