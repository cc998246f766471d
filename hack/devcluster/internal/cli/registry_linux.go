package cli

import (
	"crypto/tls"
	"errors"
	"sync"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/hack/devcluster/internal/certificate"
	"github.com/critical-service/operator/hack/devcluster/internal/registry"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// registry is the background process behind the cluster's images.
func (a *app) registry() *cobra.Command {
	var options registry.Options
	var pki string
	cmd := &cobra.Command{
		Use:    "registry",
		Short:  "Serve the local image registry",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			authority, err := certificate.LoadAuthority(pki)
			if err != nil {
				return err
			}
			options.CertificateFor = rememberCertificates(authority)
			return registry.Serve(cmd.Context(), options)
		},
	}
	cmd.Flags().StringSliceVar(&options.Addresses, "address", topology.RegistryAddresses(), "addresses to listen on")
	cmd.Flags().StringVar(&options.TLSAddress, "tls-address", topology.RegistryTLSAddress(), "address that stands for the real registries")
	cmd.Flags().StringVar(&options.Dir, "dir", "", "folder of the images")
	cmd.Flags().StringVar(&pki, "pki", "", "folder of the cluster's certificate authority")
	return cmd
}

// rememberCertificates makes a certificate for each name once.
func rememberCertificates(authority *certificate.Authority) func(string) (*tls.Certificate, error) {
	var made sync.Map
	return func(name string) (*tls.Certificate, error) {
		if name == "" {
			return nil, errors.New("the client does not say which registry it wants")
		}
		if known, ok := made.Load(name); ok {
			return known.(*tls.Certificate), nil
		}
		fresh, err := authority.Server(name)
		if err == nil {
			made.Store(name, fresh)
		}
		return fresh, err
	}
}

func (a *app) withRegistry() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "with-registry -- COMMAND [ARG...]",
		Short: "Run a command for which quay.io and the other registries are the cluster's own",
		Long: "Run a command for which the names of the real registries lead to the cluster's registry,\n" +
			"over TLS that the command trusts: for tools that insist on both, as operator-sdk does.\n" +
			"The command sees its own /etc/hosts and SSL_CERT_FILE; nothing else on the machine does.",
		Example: "  devcluster with-registry -- operator-sdk run bundle quay.io/example/app-bundle:v1.0.0",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.clusterAsRoot()
			if err != nil {
				return err
			}
			return c.ExecWithRegistry(cmd.Context(), args)
		},
	}
	// What comes after the command's name is the command's.
	cmd.Flags().SetInterspersed(false)
	return cmd
}
