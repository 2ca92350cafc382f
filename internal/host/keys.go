package host

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// keyError says that a machine's key is not the one that is known.
type keyError struct{ text string }

func (e *keyError) Error() string { return e.text }

// check makes what holds a machine's key against the known ones, and the
// algorithms by which those can be asked for.
func (r resolved) check() (ssh.HostKeyCallback, []string, error) {
	files := slices.DeleteFunc(slices.Clone(r.knownHosts), func(file string) bool {
		_, err := os.Stat(file)
		return errors.Is(err, os.ErrNotExist)
	})
	known, err := knownhosts.New(files...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the known machines' keys: %w", err)
	}
	check := func(_ string, remote net.Addr, key ssh.PublicKey) error {
		return r.explainKey(known(r.alias, remote, key), key)
	}
	return check, algorithms(known, r.alias, files), nil
}

// algorithms are those of the keys that are known of a machine: it may have
// others as well, and would show one of those. None means any.
func algorithms(known ssh.HostKeyCallback, alias string, files []string) (list []string) {
	// A key that nobody has is answered with those that are known.
	stranger, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	var answer *knownhosts.KeyError
	if err != nil || !errors.As(known(alias, &net.TCPAddr{IP: net.IPv4zero}, stranger), &answer) {
		return nil
	}
	for _, file := range files {
		if text, _ := os.ReadFile(file); bytes.Contains(text, []byte("@cert-authority")) && len(list) == 0 {
			list = append(list, ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01)
		}
	}
	for _, want := range answer.Want {
		if want.Key.Type() == ssh.KeyAlgoRSA {
			list = append(list, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		list = append(list, want.Key.Type())
	}
	return list
}

// explainKey says what is wrong with a key, in which file, and what mends it.
func (r resolved) explainKey(err error, key ssh.PublicKey) error {
	var mismatch *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	shown := fmt.Sprintf("%s %s", key.Type(), ssh.FingerprintSHA256(key))
	name := knownhosts.Normalize(r.alias)
	file := "a known_hosts file"
	if len(r.knownHosts) > 0 {
		file = r.knownHosts[0]
	}
	scan := fmt.Sprintf("ssh-keyscan -p %s %s", r.port, r.name)
	if r.alias != net.JoinHostPort(r.name, r.port) {
		scan += fmt.Sprintf(" | sed 's/^[^ ]*/%s/'", name)
	}
	lax := ""
	if r.lax != "" {
		lax = fmt.Sprintf(" (StrictHostKeyChecking %s of the ssh_config is not followed: figures of an unknown machine are nobody's)", r.lax)
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return &keyError{fmt.Sprintf("its key, %s, is marked as revoked in %s:%d", shown, revoked.Revoked.Filename, revoked.Revoked.Line)}
	case errors.As(err, &mismatch) && len(mismatch.Want) == 0:
		return &keyError{fmt.Sprintf("its key, %s, is in none of %s%s; if that is its fingerprint, add it: %s >>%s",
			shown, strings.Join(r.knownHosts, ", "), lax, scan, file)}
	case errors.As(err, &mismatch):
		var lines []string
		for _, want := range mismatch.Want {
			lines = append(lines, fmt.Sprintf("%s:%d (%s %s)", want.Filename, want.Line, want.Key.Type(), ssh.FingerprintSHA256(want.Key)))
		}
		where := mismatch.Want[0].Filename
		return &keyError{fmt.Sprintf("its key has changed: it shows %s, and known is %s: it is another machine, or somebody is in between; if you know that it was installed anew: ssh-keygen -R '%s' -f %s; %s >>%s",
			shown, strings.Join(lines, ", "), name, where, scan, where)}
	}
	return &keyError{fmt.Sprintf("its key, %s: %v", shown, err)}
}

// ring is the keys that are offered to a machine.
type ring struct {
	signers []ssh.Signer
	offered []string // what they are, for messages
	unused  []string // why others are not among them
	close   func()
}

// keys gathers the private keys: files first, then what the agent has.
func (r resolved) keys() (*ring, error) {
	k := &ring{close: func() {}}
	wanted := map[string]bool{} // public keys of identity files that only the agent can use
	for _, file := range r.identities {
		text, err := os.ReadFile(file)
		if err != nil {
			if file == r.required {
				return nil, fmt.Errorf("identity: %w", err)
			}
			if public, err := os.ReadFile(file + ".pub"); err == nil {
				k.want(wanted, public)
			}
			continue
		}
		signer, err := ssh.ParsePrivateKey(text)
		var locked *ssh.PassphraseMissingError
		switch {
		case err == nil:
			k.signers, k.offered = append(k.signers, signer), append(k.offered, file)
		case errors.As(err, &locked):
			if locked.PublicKey != nil {
				wanted[string(locked.PublicKey.Marshal())] = true
			}
			k.unused = append(k.unused, fmt.Sprintf("%s has a passphrase: add it to the agent (ssh-add %s)", file, file))
		case k.want(wanted, text): // a public key, whose other half the agent has
		case file == r.required:
			return nil, fmt.Errorf("identity: %s: %w", file, err)
		default:
			k.unused = append(k.unused, fmt.Sprintf("%s: %v", file, err))
		}
	}
	if r.agent == "" {
		return k, nil
	}
	conn, err := net.Dial("unix", r.agent)
	if err != nil {
		k.unused = append(k.unused, fmt.Sprintf("the SSH agent does not answer: %v", err))
		return k, nil
	}
	held, err := agent.NewClient(conn).Signers()
	if err != nil {
		conn.Close()
		k.unused = append(k.unused, fmt.Sprintf("the SSH agent: %v", err))
		return k, nil
	}
	k.close = func() { conn.Close() }
	var named, others []ssh.Signer
	for _, signer := range held {
		if wanted[string(signer.PublicKey().Marshal())] {
			named = append(named, signer)
		} else if !r.onlyIdentities {
			others = append(others, signer)
		}
	}
	if n := len(named) + len(others); n > 0 {
		k.offered = append(k.offered, fmt.Sprintf("%d of the SSH agent", n))
	}
	k.signers = append(append(named, k.signers...), others...)
	return k, nil
}

// want takes note of a public key.
func (k *ring) want(wanted map[string]bool, text []byte) bool {
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err == nil {
		wanted[string(public.Marshal())] = true
	}
	return err == nil
}

// words say what was offered.
func (k *ring) words() string {
	text := "no key at all"
	if len(k.offered) > 0 {
		text = strings.Join(k.offered, ", ")
	}
	for _, why := range k.unused {
		text += "; " + why
	}
	return text
}
