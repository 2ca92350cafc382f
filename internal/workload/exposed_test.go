package workload

import (
	"fmt"
	"testing"
)

func TestAPackSaysAtWhichPortsItsServersAreReachedFromElsewhere(t *testing.T) {
	for _, c := range []struct {
		pack   string
		places map[string]string
		values map[string]string
		want   string
	}{
		{"redis", nil, nil, "[]"},
		{"redis", map[string]string{"driver": OnHost}, nil, "[{server [13379]}]"},
		{"redis", map[string]string{"driver": Apart}, map[string]string{"port": "7000"}, "[{server [7000]}]"},
		{"redis", map[string]string{"server": Apart}, nil, "[{server [13379]}]"},
		{"mysql-oltp", map[string]string{"driver": OnHost}, map[string]string{"port": "7001"}, "[{database [7001]}]"},
		// The database stands beside the web server, which alone asks it.
		{"wordpress-ab", map[string]string{"driver": OnHost}, map[string]string{"port": "7001"}, "[{web [7001]}]"},
		{"nginx", map[string]string{"driver": Apart, "server": Apart}, map[string]string{"port": "7001"}, "[{server [7001]}]"},
	} {
		pack, err := Find(c.pack)
		if err != nil {
			t.Fatal(err)
		}
		p := *pack
		p.Roles = map[string]Role{}
		for name, role := range pack.Roles {
			if place := c.places[name]; place != "" {
				role.Place = place
			}
			p.Roles[name] = role
		}
		got, err := p.ExposedRoles(c.values)
		if err != nil {
			t.Fatal(err)
		}
		plain := "["
		for _, r := range got {
			plain += fmt.Sprintf("{%s %v}", r.Role, r.Ports)
		}
		if plain += "]"; plain != c.want {
			t.Errorf("%s %v: reached at %s, want %s", c.pack, c.places, plain, c.want)
		}
	}
}
