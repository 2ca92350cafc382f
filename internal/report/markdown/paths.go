package markdown

import (
	"fmt"
	"strings"

	"tare/internal/report/model"
)

func paths(b *strings.Builder, ways []model.SharedPaths) {
	if len(ways) == 0 {
		return
	}
	b.WriteString("\n## Network and storage paths\n\n| environment | network | root | on | /data | on |\n|---|---|---|---|---|---|\n")
	for _, r := range ways {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", escape(r.Names()),
			escape(model.OnFileSystem(r.Network, "")), escape(model.OnFileSystem(r.Root, "")), escape(model.OnFileSystem(r.RootOn, "")), escape(model.OnFileSystem(r.Data, "")), escape(model.OnFileSystem(r.DataOn, "")))
	}
}
