package text

import (
	"tare/internal/report/model"
)

func (t *terminal) paths(ways []model.SharedPaths) {
	if len(ways) == 0 {
		return
	}
	t.heading("Network and storage paths")
	for _, r := range ways {
		t.wrap(2, r.Names())
		t.wrap(4, "network: "+model.OnFileSystem(r.Network, ""))
		t.wrap(4, "root: "+model.OnFileSystem(r.Root, r.RootOn))
		t.wrap(4, "/data: "+model.OnFileSystem(r.Data, r.DataOn))
	}
}
