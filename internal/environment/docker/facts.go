package docker

import (
	"context"
	"strings"
	"time"
)

// asking an engine for its versions takes no longer.
const asking = 5 * time.Second

// Facts of the container that only the engine knows. Versions are asked for
// once.
func (i *instance) Facts() map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), asking)
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
