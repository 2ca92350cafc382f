// Package profiles holds the evaluation profiles that tare brings, as the YAML
// files that a user could have written.
package profiles

import "embed"

// Files holds NAME.yaml for each built-in profile.
//
//go:embed *.yaml
var Files embed.FS
