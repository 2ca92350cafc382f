package hypervisor

import (
	"crypto/x509"
	"errors"
	"net"
	"net/url"
)

// LocalAddress returns the IPv4 address from which this machine reaches a host.
func LocalAddress(name string) (string, error) {
	// Connecting a UDP socket sends nothing: the kernel only looks up the route.
	c, err := net.Dial("udp4", net.JoinHostPort(name, "443"))
	if err != nil {
		return "", err
	}
	defer c.Close()
	address, _, err := net.SplitHostPort(c.LocalAddr().String())
	return address, err
}

// Untrusted reports whether an error is a certificate of an unknown authority or for
// another name.
func Untrusted(err error) bool {
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var inside *url.Error
	if errors.As(err, &inside) {
		err = inside.Err
	}
	return errors.As(err, &unknown) || errors.As(err, &name)
}
