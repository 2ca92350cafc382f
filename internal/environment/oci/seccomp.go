package oci

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	profiles "github.com/moby/profiles/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// filter makes what the option says. Docker's profile names the capabilities that
// unlock further calls, and kernels; what holds here is decided now.
func filter(option string) seccomp {
	return func(s *specs.Spec) (*specs.LinuxSeccomp, error) {
		if option == "default" {
			return profiles.GetDefaultProfile(s)
		}
		text, err := os.ReadFile(option)
		if err != nil {
			return nil, err
		}
		made, err := profiles.LoadProfile(string(text), s)
		if err == nil && made == nil {
			err = errors.New("it holds no profile")
		}
		return made, err
	}
}

// checkProfile says whether a profile can be read.
func checkProfile(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var p profiles.Seccomp
	if err := json.Unmarshal(text, &p); err != nil {
		return fmt.Errorf("%s is not a seccomp profile for %s: %w", file, runtime.GOARCH, err)
	}
	return nil
}
