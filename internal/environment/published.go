package environment

// Published is an instance whose Address is one of the host's, where ports of
// it are published. Its own servers cannot listen there.
type Published interface {
	// Listen is the address inside at which they do; "" where nobody reaches it.
	Listen() string
}

// Listen is the address that servers inside of an instance listen at.
func Listen(i Instance) string {
	if p, published := i.(Published); published {
		return p.Listen()
	}
	return i.Address()
}

// Publishing are options with which others may reach an instance at some ports
// alone.
type Publishing interface {
	// Publishes are these TCP ports and the key of the option that lists them;
	// no key where there is no such bound.
	Publishes() (key string, ports []int)
}
