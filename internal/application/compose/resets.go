package compose

import (
	"strings"

	"tare/internal/application"
	"tare/internal/base/lists"
)

// Resets is a second file in one line that takes out what the services ask for; "" for
// nothing. Of a key in another one, as deploy.replicas, it leaves what is beside it.
func Resets(a *application.Application) string {
	var reset func(keys []string) string
	reset = func(keys []string) string {
		var order []string
		inside := map[string][]string{}
		for _, key := range keys {
			first, rest, nested := strings.Cut(key, ".")
			if _, known := inside[first]; !known {
				order, inside[first] = append(order, first), nil
			}
			if nested {
				inside[first] = append(inside[first], rest)
			}
		}
		for i, name := range order {
			if order[i] += ": !reset null"; len(inside[name]) > 0 {
				order[i] = name + ": " + reset(inside[name])
			}
		}
		return "{" + strings.Join(order, ", ") + "}"
	}
	var all []string
	for _, s := range a.Services {
		if len(s.Asks) > 0 {
			all = append(all, s.Name+": "+reset(lists.Map(s.Asks, func(one application.Ask) string { return one.Key })))
		}
	}
	if all == nil {
		return ""
	}
	return "services: {" + strings.Join(all, ", ") + "}"
}
