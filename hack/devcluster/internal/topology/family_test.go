package topology

import (
	"net/netip"
	"testing"
)

func TestParseFamilies(t *testing.T) {
	for text, valid := range map[string]bool{
		"ipv4": true, "ipv6": true, "ipv4,ipv6": true, "ipv6,ipv4": true,
		"": false, "ipv4,": false, "ipv4,ipv4": false, "ipv4 ipv6": false, "IPv4": false, "dual": false,
	} {
		if families, err := ParseFamilies(text); (err == nil) != valid || valid && families.String() != text {
			t.Errorf("%q: %s, %v", text, families, err)
		}
	}
}

func TestTheAddressesOfAFamilyAreOfItsNetworks(t *testing.T) {
	for _, family := range []Family{IPv4, IPv6} {
		pods, services := netip.MustParsePrefix(family.PodCIDR), netip.MustParsePrefix(family.ServiceCIDR)
		for ip, network := range map[string]netip.Prefix{family.NodeIP: pods, family.APIServiceIP: services, family.DNSServiceIP: services} {
			address := netip.MustParseAddr(ip)
			if !network.Contains(address) || address.Is4() != (family.Name == "ipv4") {
				t.Errorf("%s: %s is not of %s", family.Name, ip, network)
			}
		}
		// Kubernetes gives the API server the first.
		if first := services.Addr().Next().String(); first != family.APIServiceIP {
			t.Errorf("%s: %s is not the first ClusterIP, %s", family.Name, family.APIServiceIP, first)
		}
		if pods.Overlaps(services) {
			t.Errorf("%s: Pods and Services have the same addresses", family.Name)
		}
	}
}
