package study

import (
	"tare/internal/base/strictyaml"
	"tare/internal/workload"
)

// readPlace reads where a role runs: one of workload.Places, {host: NAME} for a
// host of the study, or {apart: [NAME, ...]} for one instance on each. "" is
// invalid input that was reported.
func readPlace(at strictyaml.Node, hosts map[string]Host) (place string, on []string) {
	if !at.IsMapping() {
		at.Decode(&place)
		return place, nil
	}
	var form struct {
		Host  string   `yaml:"host"`
		Apart []string `yaml:"apart"`
	}
	at.Decode(&form)
	switch {
	case form.Host != "" && form.Apart == nil:
		if checkHost(at.At("host"), form.Host, hosts) {
			return workload.OnHost, []string{form.Host}
		}
	case form.Host == "" && len(form.Apart) > 0:
		known := true
		seen := map[string]bool{}
		for i, name := range form.Apart {
			known = checkHost(at.At("apart", i), name, hosts) && known
			if seen[name] {
				at.At("apart", i).Problemf("host %s is listed twice: instances on one host would share its addresses", name)
				known = false
			}
			seen[name] = true
		}
		if known {
			return workload.Apart, form.Apart
		}
	default:
		at.Problemf("to run a role on another host, write {host: NAME}; to run its instances on several, {apart: [NAME, ...]}")
	}
	return "", nil
}
