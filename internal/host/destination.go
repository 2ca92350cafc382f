package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/strictyaml"
)

// Destination is a machine that is reached over SSH. The fields are options of
// OpenSSH's ssh; everything else follows ssh's own configuration.
type Destination struct {
	// Host is a name, an address or a Host of the ssh_config, with an optional
	// user and port: "ubuntu@10.0.0.2:2222".
	Host string
	// Identity is the file of a private key (IdentityFile). With it, ssh offers
	// no other keys than this one and those that the ssh_config names.
	Identity string
	// KnownHosts is the file with the machine's host key (UserKnownHostsFile);
	// "" follows the ssh_config.
	KnownHosts string
	// Config replaces the user's and the system's ssh_config (-F); "none" reads
	// no configuration.
	Config string
	// KeyAlias is the name under which the host key is known (HostKeyAlias), for
	// machines whose address or port changes.
	KeyAlias string
}

// Validate returns an error that names the invalid field.
func (d Destination) Validate() error {
	if _, _, _, err := split(d.Host); err != nil {
		return err
	}
	for key, file := range map[string]string{"identity": d.Identity, "config": d.Config} {
		if file == "" || key == "config" && file == noConfig {
			continue
		}
		if info, err := os.Stat(expandHome(file)); err != nil {
			return strictyaml.AtKey(key, "%w", err)
		} else if info.IsDir() {
			return strictyaml.AtKey(key, "%s is a directory, not a file", file)
		}
	}
	return nil
}

const noConfig = "none"

// split parses [USER@]HOST[:PORT].
func split(text string) (login, name, port string, err error) {
	if text == "" {
		return "", "", "", strictyaml.AtKey("ssh", "the machine is missing; write NAME, USER@NAME or USER@NAME:PORT")
	}
	name = text
	at := strings.LastIndex(text, "@")
	found := at >= 0
	if found {
		login, name = text[:at], text[at+1:]
	}
	if before, after, found := strings.Cut(name, ":"); found && !strings.Contains(after, ":") {
		name, port = before, after
	} else if strings.HasPrefix(name, "[") { // an IPv6 address with its port
		if name, port, err = net.SplitHostPort(name); err != nil {
			return "", "", "", strictyaml.AtKey("ssh", "%q: %w", text, err)
		}
	}
	if number, err := strconv.Atoi(port); port != "" && (err != nil || number < 1 || number > 65535) {
		return "", "", "", strictyaml.AtKey("ssh", "%q: %q is not a port number between 1 and 65535", text, port)
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n/\\'\"$`;&|<>") || found && login == "" {
		return "", "", "", strictyaml.AtKey("ssh", "%q is not a machine; write NAME, USER@NAME or USER@NAME:PORT", text)
	}
	return login, name, port, nil
}

const (
	// connectTimeout limits the connection, the key exchange and the login.
	connectTimeout = 20 * time.Second
	// A connection on which the server does not answer aliveCount probes, one
	// every aliveInterval, counts as lost.
	aliveInterval = 5 * time.Second
	aliveCount    = 4
)

// options are the arguments that every call of ssh for the destination has, up
// to the "--" before the host's name.
func (d Destination) options(login, port string) []string {
	set := []string{
		// Nobody can answer a question.
		"BatchMode=yes",
		// Results of a machine that is not known to be the right one are
		// worthless, so a lax setting in the ssh_config is overridden.
		"StrictHostKeyChecking=yes",
		"UpdateHostKeys=no",
		"ConnectTimeout=" + seconds(connectTimeout),
		"ServerAliveInterval=" + seconds(aliveInterval),
		"ServerAliveCountMax=" + strconv.Itoa(aliveCount),
		// What a Host entry does for interactive logins.
		"RemoteCommand=none",
		"ClearAllForwardings=yes",
		// Errors and timeouts are reported at this level.
		"LogLevel=INFO",
	}
	if d.Identity != "" {
		set = append(set, "IdentityFile="+literal(expandHome(d.Identity)), "IdentitiesOnly=yes")
	}
	if d.KnownHosts != "" {
		set = append(set, "UserKnownHostsFile="+literal(expandHome(d.KnownHosts)), "GlobalKnownHostsFile=/dev/null")
	}
	if d.KeyAlias != "" {
		set = append(set, "HostKeyAlias="+d.KeyAlias)
	}
	arguments := []string{"-T", "-x"}
	for _, option := range set {
		arguments = append(arguments, "-o", option)
	}
	if d.Config != "" {
		arguments = append(arguments, "-F", expandHome(d.Config))
	}
	if login != "" {
		arguments = append(arguments, "-l", login)
	}
	if port != "" {
		arguments = append(arguments, "-p", port)
	}
	return arguments
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// literal quotes a path for an option that ssh splits into words and in which it
// expands percent tokens.
func literal(path string) string {
	return `"` + strings.NewReplacer("%", "%%", `\`, `\\`, `"`, `\"`).Replace(path) + `"`
}

// expandHome replaces a leading ~ by the user's home directory.
func expandHome(file string) string {
	if rest, found := strings.CutPrefix(file, "~"); found && (rest == "" || rest[0] == '/') {
		if directory, err := os.UserHomeDir(); err == nil {
			return filepath.Join(directory, rest)
		}
	}
	return file
}

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
