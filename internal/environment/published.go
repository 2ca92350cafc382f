package environment

// Published is an instance whose Address is one of the host's, at which its ports are
// published. Its servers cannot listen at that address.
type Published interface {
	// Listen is the address inside at which servers listen; "" if it is not reachable.
	Listen() string
}

// Listen is the address at which servers inside an instance listen.
func Listen(i Instance) string {
	if p, published := i.(Published); published {
		return p.Listen()
	}
	return i.Address()
}

// Publishing is implemented by options that make an instance reachable only at some
// ports.
type Publishing interface {
	// Publishes returns these TCP ports and the key of the option that lists them; no key
	// without such a restriction.
	Publishes() (key string, ports []int)
}
