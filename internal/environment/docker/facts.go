package docker

import (
	"context"
	"strings"
	"time"
)

// versionTimeout is for requesting the versions of an engine.
const versionTimeout = 5 * time.Second

// Facts of the container that only the engine has. Versions are requested once.
func (i *instance) Facts() map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	facts := map[string]string{
		"log.channel": "the engine's attach", "log.driver": i.options.Log,
		"provider[engine]": strings.ToLower(strings.Fields(i.engine.name)[0]),
	}
	info, err := i.engine.info(ctx) // known since Prepare
	if err != nil {
		return facts
	}
	facts["provider[storage]"], facts["provider[cgroup driver]"] = info.Driver, info.CgroupDriver
	if facts["provider[runtime]"] = i.options.Runtime; i.options.Runtime == "" {
		facts["provider[runtime]"] = info.DefaultRuntime
	}
	for program, version := range i.versions() {
		facts["provider["+program+" version]"] = version
	}
	return facts
}
