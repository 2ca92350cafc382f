package host

import (
	"errors"
	"fmt"
	"strings"
)

// refusals are messages of ssh after which another attempt fails the same way,
// with what to do. Every other failure to connect may be a machine that is still
// booting.
var refusals = []struct{ message, advice string }{
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", "if the machine was reinstalled, remove the old key as shown above, then log in once by hand: LOGIN"},
	{"REVOKED HOST KEY", "the key is marked @revoked in FILES"},
	{"Host key verification failed", "the host key is not in FILES: log in once by hand, and compare the fingerprint that ssh shows: LOGIN"},
	{"Permission denied (", "install a public key on the machine (ssh-copy-id), name its private key (identity), or add a key with a passphrase to the agent (ssh-add)"},
	{"Too many authentication failures", "the agent offers too many keys: name the right one (identity)"},
	{"Unable to negotiate", "the two sides have no algorithm in common"},
}

// refusal explains why the master connection ended before it was established.
func (m *machine) refusal() error {
	text := m.stderr.text()
	for _, r := range refusals {
		if strings.Contains(text, r.message) {
			return errors.New(text + "\n" + strings.NewReplacer("LOGIN", m.login, "FILES", m.files).Replace(r.advice))
		}
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, text)
}

// byHand is the command by which a person logs in to the destination, and is
// offered to accept an unknown host key.
func (d Destination) byHand(login, name, port string) string {
	words := []string{"ssh"}
	add := func(value string, option ...string) {
		if value != "" {
			words = append(words, option...)
		}
	}
	add(d.Config, "-F", d.Config)
	add(d.Identity, "-i", d.Identity)
	add(d.KnownHosts, "-o", "UserKnownHostsFile="+d.KnownHosts)
	add(d.KeyAlias, "-o", "HostKeyAlias="+d.KeyAlias)
	add(port, "-p", port)
	if login != "" {
		name = login + "@" + name
	}
	return strings.Join(append(words, name), " ")
}
