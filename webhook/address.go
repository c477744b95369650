package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errAddress: the endpoint leads to an address of a network that is not the public one.
var errAddress = errors.New("webhook: the endpoint's address is private or reserved")

// reserved returns the networks that netip.Addr does not know as special, and Azure's metadata.
func reserved() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "168.63.129.16/32", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// addresses decides which addresses may be dialled.
type addresses struct{ allowed, reserved []netip.Prefix }

// check is the Control of a dialer: it sees the address after the name was resolved, for every
// connection, so that a name cannot change its address in between.
func (a *addresses) check(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", errAddress, err)
	}
	ip := to.Addr().Unmap().WithZone("")
	if within(a.allowed, ip) {
		return nil
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || within(a.reserved, ip) {
		return errAddress // without the address: it would map the network for the endpoint's owner
	}
	return nil
}

func within(networks []netip.Prefix, ip netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}
