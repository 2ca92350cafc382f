package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// Destination is a machine that is reached over SSH, as ssh itself would be told
// of it.
type Destination struct {
	// Host is a name or an address, or a Host of the ssh_config, with the user
	// before it and the port behind it where they are not the usual ones:
	// "ubuntu@10.0.0.2:2222".
	Host string
	// Identity is the file of a private key that is tried before all others.
	Identity string
	// KnownHosts is the file with the machine's key; "" is what ssh_config says,
	// else the user's own.
	KnownHosts string
	// Config is the ssh_config to go by; "" is the user's and the system's, and
	// "none" is none.
	Config string
	// KeyAlias is the name under which the machine's key is known, where its
	// address or port changes: ssh's HostKeyAlias.
	KeyAlias string
}

// Validate says what is wrong with the destination.
func (d Destination) Validate() error {
	if _, _, _, err := split(d.Host); err != nil {
		return err
	}
	for key, file := range map[string]string{"identity": d.Identity, "config": d.Config} {
		if file == "" || key == "config" && file == noConfig {
			continue
		}
		if info, err := os.Stat(home(file)); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		} else if info.IsDir() {
			return fmt.Errorf("%s: %s is a folder, and a file is wanted", key, file)
		}
	}
	return nil
}

const noConfig = "none"

// split takes a destination's text apart. The port may be missing, the user too.
func split(text string) (login, name, port string, err error) {
	if text == "" {
		return "", "", "", errors.New("ssh: a machine is wanted, as for ssh: NAME, USER@NAME or USER@NAME:PORT")
	}
	login, name, found := strings.Cut(text, "@")
	if at := strings.LastIndex(text, "@"); found {
		login, name = text[:at], text[at+1:]
	} else {
		login, name = "", text
	}
	if before, after, found := strings.Cut(name, ":"); found && !strings.Contains(after, ":") {
		name, port = before, after
	} else if strings.HasPrefix(name, "[") { // an IPv6 address with its port
		if name, port, err = net.SplitHostPort(name); err != nil {
			return "", "", "", fmt.Errorf("ssh: %q: %w", text, err)
		}
	}
	if number, err := strconv.Atoi(port); port != "" && (err != nil || number < 1 || number > 65535) {
		return "", "", "", fmt.Errorf("ssh: %q: %q is no port, which is a number from 1 to 65535", text, port)
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.ContainsAny(name, " \t\n/\\'\"$`;&|<>") || found && login == "" {
		return "", "", "", fmt.Errorf("ssh: %q is no machine: NAME, USER@NAME or USER@NAME:PORT are", text)
	}
	return login, name, port, nil
}

// resolved is a destination with everything looked up.
type resolved struct {
	login, name, port string // name is what is dialled
	alias             string // what the key is known by, with its port
	identities        []string
	required          string // an identity that has to be there
	agent             string // socket; "" is none
	onlyIdentities    bool
	knownHosts        []string
	lax               string // a weaker check of keys that the ssh_config asks for
	jumps             []string
}

// settings are the ssh_config files that count, the first one first.
type settings []*ssh_config.Config

func readSettings(config string) (settings, error) {
	files := []string{home("~/.ssh/config"), "/etc/ssh/ssh_config"}
	switch config {
	case noConfig:
		return nil, nil
	case "":
	default:
		files = []string{home(config)}
	}
	var list settings
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) && config == "" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the ssh_config: %w", err)
		}
		parsed, err := ssh_config.DecodeBytes(text)
		if err != nil {
			return nil, fmt.Errorf("reading the ssh_config %s: %w: name the machine in full, with config: none", file, err)
		}
		list = append(list, parsed)
	}
	return list, nil
}

func (s settings) get(host, key string) (string, error) {
	for _, file := range s {
		if value, err := file.Get(host, key); err != nil || value != "" {
			return strings.Trim(value, `"`), err
		}
	}
	return "", nil
}

func (s settings) all(host, key string) (list []string, err error) {
	for _, file := range s {
		values, err := file.GetAll(host, key)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			list = append(list, strings.Trim(value, `"`))
		}
	}
	return list, nil
}

// resolve looks a destination up in the ssh_config.
func (s settings) resolve(d Destination) (r resolved, err error) {
	login, called, port, err := split(d.Host)
	if err != nil {
		return r, err
	}
	values := map[string]string{}
	for _, key := range []string{"HostName", "User", "Port", "IdentitiesOnly", "IdentityAgent", "ProxyJump", "ProxyCommand", "UserKnownHostsFile", "GlobalKnownHostsFile", "HostKeyAlias", "StrictHostKeyChecking"} {
		if values[key], err = s.get(called, key); err != nil {
			return r, fmt.Errorf("%s of %s in the ssh_config: %w", key, called, err)
		}
	}
	r.name = first(strings.ReplaceAll(values["HostName"], "%h", called), called)
	r.port = first(port, values["Port"], "22")
	r.login = first(login, values["User"], me())
	r.onlyIdentities = strings.EqualFold(values["IdentitiesOnly"], "yes")
	r.alias = net.JoinHostPort(r.name, r.port)
	if alias := first(d.KeyAlias, values["HostKeyAlias"]); alias != "" {
		r.alias = net.JoinHostPort(alias, "22") // as ssh: without the port
	}
	if command := values["ProxyCommand"]; command != "" && command != noConfig {
		return r, fmt.Errorf("the ssh_config reaches %s by the ProxyCommand %q, which tare does not run: use ProxyJump", called, command)
	}
	if jump := values["ProxyJump"]; jump != "" && jump != noConfig {
		for _, one := range strings.Split(jump, ",") {
			r.jumps = append(r.jumps, strings.TrimPrefix(strings.TrimSpace(one), "ssh://"))
		}
	}
	switch lax := strings.ToLower(values["StrictHostKeyChecking"]); lax {
	case "no", "off", "accept-new":
		r.lax = lax
	}
	if r.identities, err = s.all(called, "IdentityFile"); err != nil {
		return r, fmt.Errorf("IdentityFile of %s in the ssh_config: %w", called, err)
	}
	if len(r.identities) == 0 {
		r.identities = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}
	}
	if d.Identity != "" {
		r.required = home(d.Identity)
		r.identities = append([]string{d.Identity}, r.identities...)
	}
	for n, file := range r.identities {
		r.identities[n] = home(r.expand(file, called))
	}
	switch agent := values["IdentityAgent"]; agent {
	case "", "SSH_AUTH_SOCK", "$SSH_AUTH_SOCK":
		r.agent = os.Getenv("SSH_AUTH_SOCK")
	case noConfig:
	default:
		r.agent = home(r.expand(agent, called))
	}
	known := first(values["UserKnownHostsFile"], "~/.ssh/known_hosts ~/.ssh/known_hosts2") + " " + first(values["GlobalKnownHostsFile"], "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2")
	if d.KnownHosts != "" {
		r.knownHosts = []string{home(d.KnownHosts)}
		return r, nil
	}
	for _, file := range strings.Fields(known) {
		if file != noConfig {
			r.knownHosts = append(r.knownHosts, home(r.expand(file, called)))
		}
	}
	return r, nil
}

// expand fills in ssh's tokens.
func (r resolved) expand(text, called string) string {
	return strings.NewReplacer("%%", "%", "%d", home("~"), "%h", r.name, "%n", called, "%p", r.port, "%r", r.login, "%u", me()).Replace(text)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// home puts the user's folder in the place of a leading ~.
func home(file string) string {
	if rest, found := strings.CutPrefix(file, "~"); found && (rest == "" || rest[0] == '/') {
		if folder, err := os.UserHomeDir(); err == nil {
			return filepath.Join(folder, rest)
		}
	}
	return file
}

func me() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return first(os.Getenv("USER"), "root")
}
