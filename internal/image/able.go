package image

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Able says why this process cannot make the root file system of a recipe, as those of
// built-in studies are; nil where it can. It starts nothing. install are packages that are
// all that is missing.
func Able() (install []string, err error) {
	if _, err := hostDistribution(); err != nil {
		return nil, err
	}
	switch {
	case os.Geteuid() != 0:
		return nil, errors.New("making a root file system needs root")
	case !maySetUp():
		return nil, errors.New("making a root file system needs the right to mount (CAP_SYS_ADMIN), which root does not have in this container")
	}
	var lacks []string
	for _, program := range []string{"mmdebstrap", "unshare"} {
		if _, missing := exec.LookPath(program); missing != nil {
			install = append(install, packageOf[program])
			lacks = append(lacks, program)
		}
	}
	if len(lacks) == 0 {
		return nil, nil
	}
	return install, fmt.Errorf("not installed: %s", strings.Join(lacks, ", "))
}
