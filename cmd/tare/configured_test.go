package main

import (
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/image/recipe"
	"tare/internal/study"
)

// The settings that the thesis prints for each side in its appendices A and B. What a study
// measures as configured there has no other ones.
func TestTheStudiesOfOnePublicationHaveTheSettingsThatItPrints(t *testing.T) {
	site := "server { listen 80; server_name localhost; root /usr/share/nginx/html; index index.html; location / { try_files $uri $uri/ =404; } access_log /var/log/nginx/access.log; error_log /var/log/nginx/error.log; }"
	web := func(user, pid, sites string) string {
		return "user " + user + "; worker_processes auto; error_log /dev/null; pid " + pid + "/nginx.pid; events { worker_connections 4096; } " +
			"http { include /etc/nginx/mime.types; default_type application/octet-stream; sendfile on; keepalive_timeout 65; include /etc/nginx/conf.d/*.conf; " + sites + "}"
	}
	database := "[mysqld] host-cache-size=0 skip-name-resolve pid-file = /var/run/mysqld/mysqld.pid socket = /var/run/mysqld/mysqld.sock datadir = /var/lib/mysql "
	for name, files := range map[string]map[string]string{
		"heino-2025-nginx": {
			"/opt/heino-2025/native/nginx.conf":             web("www-data", "/run", "include /etc/nginx/sites-enabled/*; "),
			"/opt/heino-2025/native/sites-enabled/default":  site,
			"/opt/heino-2025/container/nginx.conf":          web("nginx", "/var/run", ""),
			"/opt/heino-2025/container/conf.d/default.conf": site,
		},
		"heino-2025-mysql": {
			"/opt/heino-2025/native-mysql/my.cnf":    database + "bind-address= 127.0.0.1 port = 3306 [client-server] socket = /run/mysqld/mysqld.sock",
			"/opt/heino-2025/container-mysql/my.cnf": database + "user=mysql bind-address= 0.0.0.0 port = 3306 [client] socket = /var/run/mysqld/mysqld.sock",
		},
	} {
		plan, err := study.Open(name, study.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range files {
			f := lists.Find(plan.Image.Recipe.Files, func(f *recipe.File) bool { return f.Path == path })
			if f == nil {
				t.Errorf("%s has no file %s", name, path)
			} else if got := strings.Join(strings.Fields(f.Content), " "); got != want {
				t.Errorf("%s sets in %s\n%s\nand the thesis prints\n%s", name, path, got, want)
			}
		}
	}
}

// Of the settings of Redis (appendix C), which both sides share, those that are not Redis's
// defaults.
func TestRedisIsMeasuredWithoutPersistenceAsThePublicationHasIt(t *testing.T) {
	plan, err := study.Open("heino-2025-redis", study.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	w := plan.Workloads[0]
	for _, want := range []string{"--protected-mode no", `--save ""`, "--appendonly no"} {
		if !strings.Contains(w.Pack.Servers[0].Run, " "+want+" ") {
			t.Errorf("the server has not %s: %s", want, w.Pack.Servers[0].Run)
		}
	}
}
