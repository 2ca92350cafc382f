package vsphere

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"tare/internal/environment/support/hypervisor"
)

// Options of the kind vsphere, as a study writes them.
type Options struct {
	Access
	hypervisor.Options `yaml:",inline"`
	// Folder of the inventory in which clones are made; "" is the datacenter's own.
	Folder string `yaml:"folder" json:"folder,omitempty"`
	// ResourcePool, Datastore and ESXiHost that clones are put on; "" is the
	// template's, or the only one.
	ResourcePool string `yaml:"resource_pool" json:"resource_pool,omitempty"`
	Datastore    string `yaml:"datastore" json:"datastore,omitempty"`
	ESXiHost     string `yaml:"esxi_host" json:"esxi_host,omitempty"`
}

// Access is the way to a vCenter or an ESXi host, without the password: only
// where that is to be found.
type Access struct {
	// URL of the server: https://vcenter.example.org, with or without /sdk.
	URL string `yaml:"url" json:"url"`
	// Account that logs in there.
	Account string `yaml:"account" json:"account"`
	// PasswordEnv is the environment variable with the account's password.
	PasswordEnv string `yaml:"password_env" json:"password_env"`
	// PasswordFile is a file with it, in its place.
	PasswordFile string `yaml:"password_file" json:"password_file,omitempty"`
	// CAFile has the certificates that the server's may be signed by; "" is the
	// system's.
	CAFile string `yaml:"ca_file" json:"ca_file,omitempty"`
	// Insecure takes any certificate.
	Insecure bool `yaml:"insecure" json:"insecure,omitempty"`
	// Datacenter of the VMs; "" is the only one.
	Datacenter string `yaml:"datacenter" json:"datacenter,omitempty"`
}

func defaults() *Options {
	return &Options{Access: Access{PasswordEnv: "VSPHERE_PASSWORD"}, Options: hypervisor.Defaults()}
}

// Validate says everything that is wrong with the options. It quotes no URL
// that has a password in it.
func (o *Options) Validate() error {
	var wrong []error
	no := func(format string, a ...any) { wrong = append(wrong, fmt.Errorf(format, a...)) }
	if _, err := o.address(); err != nil {
		wrong = append(wrong, err)
	}
	if o.Account == "" {
		no("account: nobody logs in")
	}
	if o.PasswordEnv == "" && o.PasswordFile == "" {
		no("password_env: name the environment variable, or with password_file the file, that has the password")
	}
	if strings.ContainsAny(o.PasswordEnv, "= \t\n") {
		no("password_env: that is no name of an environment variable")
	}
	if o.Insecure && o.CAFile != "" {
		no("insecure: takes any certificate, so ca_file would not count: leave one of the two out")
	}
	return hypervisor.Validate(&o.Options, wrong...)
}

// address is the URL of the server's API.
func (a Access) address() (*url.URL, error) {
	u, err := url.Parse(a.URL)
	switch {
	case a.URL == "":
		return nil, errors.New("url: no server: https://vcenter.example.org")
	case err != nil:
		return nil, errors.New("url: that is no URL: https://vcenter.example.org is one")
	case u.User != nil:
		return nil, errors.New("url: has a user or a password in it: write account, and password_env or password_file")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, fmt.Errorf("url: %q is no https://SERVER", a.URL)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/sdk"
	}
	return u, nil
}

// password is read when it is needed and kept nowhere.
func (a Access) password() (string, error) {
	if a.PasswordFile != "" {
		text, err := os.ReadFile(a.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("password_file: %w", err)
		}
		return strings.TrimRight(string(text), "\r\n"), nil
	}
	password, set := os.LookupEnv(a.PasswordEnv)
	if !set {
		return "", fmt.Errorf("password_env: the environment variable %s, with the password of %s at %s, is not set", a.PasswordEnv, a.Account, a.URL)
	}
	return password, nil
}
