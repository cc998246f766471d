package consumers

import (
	"context"
	"errors"
	"net"
	"slices"
)

// DNS asks one DNS server.
type DNS struct{ resolver *net.Resolver }

// NewDNS returns a client of the server at address, HOST:PORT.
func NewDNS(address string) *DNS {
	return &DNS{resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
}

// Addresses are the addresses of a name, sorted; none when the name does not exist.
func (d *DNS) Addresses(ctx context.Context, name string) ([]string, error) {
	// The final dot keeps the search list of this machine out of it.
	found, err := d.resolver.LookupIP(ctx, "ip", name+".")
	var missing *net.DNSError
	if errors.As(err, &missing) && missing.IsNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	addresses := make([]string, 0, len(found))
	for _, ip := range found {
		addresses = append(addresses, ip.String())
	}
	slices.Sort(addresses)
	return addresses, nil
}
