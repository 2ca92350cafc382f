package recipe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"tare/internal/image/debian"
	"tare/internal/image/tool"
)

// Able says why this process cannot make the root file system of a recipe, as those of
// built-in studies are; nil where it can. It starts nothing. install are packages that are
// all that is missing.
func Able() (install []string, err error) {
	if _, err := debian.Host(); err != nil {
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
			install = append(install, tool.PackageOf[program])
			lacks = append(lacks, program)
		}
	}
	if len(lacks) == 0 {
		return nil, nil
	}
	return install, fmt.Errorf("not installed: %s", strings.Join(lacks, ", "))
}
