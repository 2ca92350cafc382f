package compose

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/tree"

	"tare/internal/application"
)

// key is what tare makes of one key of a service. A key without a row is asked of the
// environment: a new key of Compose does not pass unnoticed.
type key struct {
	path  string // below services.NAME
	what  kind
	why   string         // of noted and refused ones
	where func(any) bool // whether its value matters; nil for every value
}

type kind int

const (
	read    kind = iota // into the Service
	asked               // of the environment
	noted               // it has no effect, and why
	refused             // tare does not do it, and what to do
)

const (
	terminal  = "an instance has no terminal, and nothing is written to it"
	daemon    = "tare starts a service once for its samples, and a service that ends fails them"
	scheduler = "it is for the schedulers of clusters"
	logs      = "tare keeps what a service prints in the run directory"
	names     = "tare finds its instances by labels of its own"
	building  = "tare takes the images that are there"
	oneNet    = "all services of an application are on one private network"
	weight    = "tare gives no weights; a limit has an effect"
	hardening = "an environment has the restrictions of its options"
)

// keys are in the order of the specification.
var keys = []key{
	{path: "annotations", what: noted, why: names},
	{path: "attach", what: noted, why: logs},
	{path: "build", what: read},
	{path: "cap_drop", what: noted, why: hardening},
	{path: "command", what: read},
	{path: "configs", what: read},
	{path: "container_name", what: read},
	{path: "cpu_period", what: read},
	{path: "cpu_quota", what: read},
	{path: "cpu_shares", what: noted, why: weight},
	{path: "cpus", what: read},
	{path: "depends_on", what: read},
	{path: "deploy.endpoint_mode", what: noted, why: scheduler},
	{path: "deploy.labels", what: noted, why: names},
	{path: "deploy.mode", what: asked, where: func(v any) bool { return v != "replicated" && v != "global" }},
	{path: "deploy.placement", what: noted, why: scheduler},
	{path: "deploy.replicas", what: read},
	{path: "deploy.resources.limits.cpus", what: read},
	{path: "deploy.resources.limits.memory", what: read},
	{path: "deploy.resources.limits.pids", what: read},
	{path: "deploy.resources.reservations.cpus", what: noted, why: weight},
	{path: "deploy.resources.reservations.memory", what: noted, why: weight},
	{path: "deploy.restart_policy", what: noted, why: daemon},
	{path: "deploy.rollback_config", what: noted, why: scheduler},
	{path: "deploy.update_config", what: noted, why: scheduler},
	{path: "develop", what: noted, why: building},
	{path: "entrypoint", what: read},
	{path: "env_file", what: read},
	{path: "environment", what: read},
	{path: "expose", what: read},
	{path: "extends", what: read},
	{path: "extra_hosts", what: read},
	{path: "healthcheck", what: read},
	{path: "hostname", what: read},
	{path: "image", what: read},
	{path: "init", what: noted, why: "tare's agent is the parent of all processes, and collects those that end"},
	{path: "ipc", what: asked, where: func(v any) bool { return v != "private" && v != "shareable" }},
	{path: "label_file", what: noted, why: names},
	{path: "labels", what: noted, why: names},
	{path: "links", what: read},
	{path: "log_driver", what: noted, why: logs},
	{path: "log_opt", what: noted, why: logs},
	{path: "logging", what: noted, why: logs},
	{path: "mem_limit", what: read},
	{path: "mem_reservation", what: noted, why: weight},
	{path: "name", what: read},
	{path: "network_mode", what: asked, where: func(v any) bool { return v != "bridge" && v != "default" }},
	{path: "networks.*.aliases", what: read},
	{path: "networks.*.driver_opts", what: noted, why: oneNet},
	{path: "networks.*.gw_priority", what: noted, why: oneNet},
	{path: "networks.*.priority", what: noted, why: oneNet},
	{path: "networks.*.use_service_name_alias", what: noted, why: "a service always has its name"},
	{path: "pids_limit", what: read},
	{path: "platform", what: asked, where: func(v any) bool { return v != "linux/"+runtime.GOARCH }},
	{path: "ports", what: read},
	{path: "profiles", what: read},
	{path: "pull_policy", what: noted, why: building},
	{path: "pull_refresh_after", what: noted, why: building},
	{path: "restart", what: noted, why: daemon},
	{path: "scale", what: read},
	{path: "secrets", what: read},
	{path: "security_opt", what: asked, where: func(v any) bool { return !harmless(v) }},
	{path: "stdin_open", what: noted, why: terminal},
	{path: "stop_grace_period", what: read},
	{path: "stop_signal", what: read},
	{path: "tmpfs", what: read},
	{path: "tty", what: noted, why: terminal},
	{path: "user", what: read},
	{path: "volumes", what: read},
	{path: "volumes_from", what: refused, why: "give both services a named volume"},
	{path: "working_dir", what: read},
	{path: "provider", what: refused, why: "tare starts services from images alone: leave it out"},
	{path: "models", what: refused, why: "tare starts services from images alone: leave it out"},
	{path: "pre_start", what: refused, why: "make it a service that others depend on with service_completed_successfully"},
	{path: "post_start", what: refused, why: "make it a part of command:, or of the image"},
	{path: "pre_stop", what: refused, why: "make it a part of command:, or of the image"},
	{path: "external_links", what: refused, why: "make what it names a service of the file"},
}

// harmless says whether all options only take something from the service.
func harmless(v any) bool {
	for _, one := range words(v) {
		if one != "no-new-privileges" && one != "no-new-privileges:true" && one != "no-new-privileges=true" {
			return false
		}
	}
	return true
}

const services = "services.*."

// patterns make the library report each key whose value matters, and look no deeper.
func patterns() (all []loader.UnsupportedAttributePattern) {
	for _, k := range keys {
		matters := k.where
		switch {
		case k.what == read:
			matters = func(any) bool { return false }
		case matters == nil:
			matters = set
		}
		all = append(all, loader.UnsupportedAttributePattern{Path: tree.Path(services + k.path), Detect: matters})
	}
	return all
}

// supported are the keys with a row, and all outside of services. The library reports
// others, and what they hold.
func supported() []tree.Path {
	all := []tree.Path{"name", "version", "include"}
	for _, k := range keys {
		all = append(all, tree.Path(services+k.path))
	}
	return all
}

// set says whether a value is more than the absence of the key.
func set(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != "" && v != "no" && v != "false"
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// ask is the row of a key that was found, and what it asks. The service is "" where the
// key is of none.
func ask(found loader.UnsupportedAttribute) (service string, k key, one application.Ask) {
	parts := strings.SplitN(found.Path.String(), ".", 3)
	if len(parts) < 3 || parts[0] != "services" {
		return "", key{}, application.Ask{}
	}
	k = key{path: parts[2], what: asked}
	for _, row := range keys {
		if found.Path.Matches(tree.Path(services + row.path)) {
			k = row
		}
	}
	if k.what == asked && !set(found.Value) {
		k.what = read
	}
	return parts[1], k, application.Ask{Key: strings.ReplaceAll(parts[2], ".[]", ""), What: said(found.Value)}
}

// said is a value in one line.
func said(v any) string {
	var all []string
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			all = append(all, said(one))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, name+"="+said(v[name]))
		}
	default:
		return fmt.Sprint(v)
	}
	return strings.Join(all, ", ")
}
