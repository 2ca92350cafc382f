package vsphere

import (
	"net/url"
	"os"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment/support/hypervisor"
)

// Options of the kind vsphere, as in a study.
type Options struct {
	Access
	hypervisor.Options `yaml:",inline"`
	// Folder is the inventory folder of clones; "" is the datacenter's VM folder.
	Folder string `yaml:"folder" json:"folder,omitempty"`
	// ResourcePool, Datastore and ESXiHost of clones; "" is the template's, or the
	// only one.
	ResourcePool string `yaml:"resource_pool" json:"resource_pool,omitempty"`
	Datastore    string `yaml:"datastore" json:"datastore,omitempty"`
	ESXiHost     string `yaml:"esxi_host" json:"esxi_host,omitempty"`
}

// Access is how to connect to a vCenter or an ESXi host. It has the source of the
// password, not the password.
type Access struct {
	// URL of the server: https://vcenter.example.org, with or without /sdk.
	URL string `yaml:"url" json:"url"`
	// Account to log in with.
	Account string `yaml:"account" json:"account"`
	// PasswordEnv is the environment variable with the account's password.
	PasswordEnv string `yaml:"password_env" json:"password_env"`
	// PasswordFile is a file with the password, instead of PasswordEnv.
	PasswordFile string `yaml:"password_file" json:"password_file,omitempty"`
	// CAFile has the CA certificates for the server's certificate; "" is the
	// system's.
	CAFile string `yaml:"ca_file" json:"ca_file,omitempty"`
	// Insecure accepts any certificate.
	Insecure bool `yaml:"insecure" json:"insecure,omitempty"`
	// Datacenter of the VMs; "" is the only one.
	Datacenter string `yaml:"datacenter" json:"datacenter,omitempty"`
}

func defaults() *Options {
	return &Options{Access: Access{PasswordEnv: "VSPHERE_PASSWORD"}, Options: hypervisor.Defaults()}
}

// Validate returns every error in the options. It does not quote a URL that may
// contain a password.
func (o *Options) Validate() error {
	var wrong []error
	no := func(key, format string, a ...any) { wrong = append(wrong, strictyaml.AtKey(key, format, a...)) }
	if _, err := o.address(); err != nil {
		wrong = append(wrong, err)
	}
	if o.Account == "" {
		no("account", "missing; name the account to log in with")
	}
	if o.PasswordEnv == "" && o.PasswordFile == "" {
		no("password_env", "missing; name the environment variable with the password, or a file with password_file")
	}
	if strings.ContainsAny(o.PasswordEnv, "= \t\n") {
		no("password_env", "not a valid name of an environment variable")
	}
	if o.Insecure && o.CAFile != "" {
		no("insecure", "accepts any certificate, so ca_file has no effect; remove one of them")
	}
	return hypervisor.Validate(&o.Options, wrong...)
}

// address is the URL of the server's API.
func (a Access) address() (*url.URL, error) {
	u, err := url.Parse(a.URL)
	switch {
	case a.URL == "":
		return nil, strictyaml.AtKey("url", "missing; for example https://vcenter.example.org")
	case err != nil:
		return nil, strictyaml.AtKey("url", "not a valid URL; for example https://vcenter.example.org")
	case u.User != nil:
		return nil, strictyaml.AtKey("url", "contains a user or a password; use account, and password_env or password_file")
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return nil, strictyaml.AtKey("url", "%q is not of the form https://SERVER", a.URL)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/sdk"
	}
	return u, nil
}

// password reads the password. It is not stored.
func (a Access) password() (string, error) {
	if a.PasswordFile != "" {
		text, err := os.ReadFile(a.PasswordFile)
		if err != nil {
			return "", strictyaml.AtKey("password_file", "%w", err)
		}
		return strings.TrimRight(string(text), "\r\n"), nil
	}
	password, set := os.LookupEnv(a.PasswordEnv)
	if !set {
		return "", strictyaml.AtKey("password_env", "the environment variable %s, with the password of %s at %s, is not set", a.PasswordEnv, a.Account, a.URL)
	}
	return password, nil
}
