// Package program embeds the agent's executable, which `make build` puts next to this
// file, for package executable. It must not know what the agent does. Whatever imports it is
// compiled again when the agent has changed: only tare, its benchmarks and tests with
// instances do.
package program

import (
	"embed"

	"tare/internal/agent/executable"
)

// The pattern also matches tare-agent.txt, so that this package compiles without
// a built agent.
//
//go:embed tare-agent*
var files embed.FS

func init() { executable.Register(files) }
