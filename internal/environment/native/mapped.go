package native

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/childprocess"
	"tare/internal/linux/userns"
)

// mapping are the IDs of the user namespace of each instance; nil for root, whose
// instances need none.
var mapping = sync.OnceValue(func() *userns.IDs {
	if os.Geteuid() == 0 {
		return nil
	}
	ids := userns.Own()
	return &ids
})

// said tells what an instance in a user namespace lacks.
func said(ids *userns.IDs) string {
	if ids.Alone != "" {
		return fmt.Sprintf("without root, in a user namespace: the image's files all belong to this user, programs cannot become another user (%s), and there are no device nodes of the image", ids.Alone)
	}
	return "without root, in a user namespace: the image's users are those of /etc/subuid, and there are no device nodes of the image"
}

// freshRoot makes a root as rootfs.Fresh does, as root of a user namespace: files of the
// image belong to other users of the map.
func freshRoot(home, image, root string, ids userns.IDs) (binds []string, err error) {
	program, err := agent.WriteBinary(filepath.Join(home, "agent"))
	if err != nil {
		return nil, err
	}
	out, err := userns.Run(exec.Command(program, "root", image, root), ids)
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == '\n' }), nil
}

// fresh makes the root of an instance from an image's directory.
func (i *instance) fresh(home, image, root string) ([]string, error) {
	if ids := mapping(); ids != nil {
		return freshRoot(home, image, root, *ids)
	}
	return i.FreshRoot(image, root)
}

// mappedRequirements are those of a user who is not root.
func mappedRequirements(o *Options) []environment.Requirement {
	list := []environment.Requirement{
		{What: "user namespaces, in place of root", Check: checkNamespace},
		{What: "IDs for the image's users", Check: checkIDs},
	}
	list = append(list, childprocess.Subtree()...)
	for _, privileged := range []struct {
		option string
		asked  bool
		why    string
	}{
		{"root: overlay", o.Root == "overlay", "tare mounts the overlay"},
		{"network: " + o.Network, !o.shares(), "tare makes the network's devices"},
		{"data: " + o.Data, blockdevice.Named(o.Data), "tare makes and mounts a file system on the block device"},
	} {
		if privileged.asked {
			list = append(list, environment.Requirement{What: "root, for " + privileged.option, Check: func(context.Context) environment.Finding {
				return environment.Lacks(fmt.Sprintf("this process runs as user %d, and %s", os.Geteuid(), privileged.why),
					environment.AsRoot("run tare as root (sudo), or leave this option out"))
			}})
		}
	}
	return list
}

func checkNamespace(context.Context) environment.Finding {
	ids := *mapping()
	err := userns.Check(ids)
	if err == nil {
		return environment.Finding{State: environment.Usable, Reason: "programs have the rights of this user, and not those of root"}
	}
	fix := environment.AsRoot("")
	if setting := userns.Forbidden(); setting != "" {
		fix.Text = "sudo sysctl -w " + setting + ", or " + fix.Text
	}
	return environment.Lacks(err.Error(), fix)
}

func checkIDs(context.Context) environment.Finding {
	ids := *mapping()
	if ids.Alone == "" {
		return environment.Finding{State: environment.Usable}
	}
	return environment.Finding{
		State:  environment.Caveat,
		Reason: ids.Alone + ": the image's files all belong to this user, and a server that changes its user fails",
		Fix:    environment.Advice("sudo apt-get install -y uidmap; sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 " + userName()),
	}
}

func userName() string {
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "$USER"
}
