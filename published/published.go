// Package published holds what studies printed, one YAML file a study.
package published

import "embed"

// Files holds NAME.yaml for each study.
//
//go:embed *.yaml
var Files embed.FS
