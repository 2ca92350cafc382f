// Package studies holds the studies that tare brings, as the YAML files that a
// user could have written.
package studies

import "embed"

// Files holds NAME.yaml for each built-in study.
//
//go:embed *.yaml
var Files embed.FS
