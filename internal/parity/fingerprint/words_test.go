package fingerprint

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/workload"
)

func TestProgramsOfAShellCommandAreFound(t *testing.T) {
	for text, want := range map[string][]string{
		"ulimit -n 65536 2> /dev/null || ulimit -n \"$(ulimit -H -n)\"\nexec wrk -t2 http://a/": {"wrk"},
		"exec redis-benchmark -n $(cat /data/n)":                                                {"redis-benchmark"},
		"cd /data && time make -j2 | tee log":                                                   {"make"},
		"for i in 1 2; do fio --name=$i; done; iozone -a":                                       {"fio", "iozone"},
		"A=1 B=2 timeout --signal=KILL 5 nice -n 3 ./run.sh":                                    {"./run.sh"},
		"exec \"$(command -v mariadbd || command -v mysqld)\" --user=root":                      nil,
		"cat > x <<'END'\nuser root;\nworker_processes 1;\nEND\nexec nginx -c x":                {"nginx"},
		"cat <<-EOF\n  a\n  EOF\nioping /":                                                      {"ioping"},
		"if [ -e x ]; then exec a; fi; exec b":                                                  {"a", "b"},
		"2>&1 sysbench cpu \\\n  run":                                                           {"sysbench"},
		"$x run":                                                                                nil,
	} {
		if got := Programs([]string{"/bin/sh", "-c", text}); !slices.Equal(got, want) {
			t.Errorf("%q runs %q, want %q", text, got, want)
		}
	}
	for _, c := range []struct{ words, want []string }{
		{[]string{"iperf3", "-c", "a"}, []string{"iperf3"}},
		{[]string{"env", "A=1", "taskset", "-c", "0,1", "redis-benchmark"}, []string{"redis-benchmark"}},
		{nil, nil},
	} {
		if got := Programs(c.words); !slices.Equal(got, c.want) {
			t.Errorf("%q runs %q, want %q", c.words, got, c.want)
		}
	}
}

// A pack whose driver's program is not found would leave its version and its
// checksum unknown.
func TestTheProgramsOfAllPacksDriversAreFound(t *testing.T) {
	for _, name := range workload.Names() {
		pack, err := workload.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if pack.Driver == nil || pack.Driver.Entrypoint {
			continue
		}
		if found := Programs(pack.Driver.CommandArgs()); len(found) == 0 {
			t.Errorf("%s: no program is found in %q", name, pack.Driver.CommandArgs())
		} else {
			t.Log(name, found)
		}
	}
}

func TestParsingAnyShellTextTerminates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		Programs([]string{"sh", "-c", rapid.StringMatching("(<<-?'?[A-Z]*'?|\n|[a-z $;|&(){}=]*){0,20}").Draw(t, "text")})
	})
}

func TestALabelIsEqualAtEachStart(t *testing.T) {
	for text, want := range map[string]string{
		"docker-default (enforce)\n": "docker-default (enforce)",
		"unconfined\n":               "unconfined",
		"lxd-a_</var/lib/lxd>//&:lxd-a_<var-lib-lxd>:unconfined\n":  "lxd-a_</var/lib/lxd>//&:lxd-a_<var-lib-lxd>:unconfined",
		"system_u:system_r:container_t:s0:c12,c1023\x00":            "system_u:system_r:container_t:s0:c*,c*",
		"system_u:system_r:spc_t:s0\x00":                            "system_u:system_r:spc_t:s0",
		"unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023\x00": "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023",
		"kernel\x00": "kernel",
		"\x00":       "",
		"":           "",
	} {
		if got := confinement(text); got != want {
			t.Errorf("the label %q is read as %q, not %q", text, got, want)
		}
	}
}

func TestAddressesAndNamesAreReplacedAsWholeWords(t *testing.T) {
	r := &reading{Subject: Subject{Address: "10.0.0.2", Replaced: []Replace{{"10.0.0.1", "${address.driver}"}, {"b1-native-1", "${instance}"}}}}
	for text, want := range map[string]string{
		"listen 10.0.0.2:80;":           "listen ${address}:80;",
		"10.0.0.1 10.0.0.12 10.0.0.1.5": "${address.driver} 10.0.0.12 10.0.0.1.5",
		"127.0.0.1:8080":                "${address}:8080",
		"0.0.0.0":                       "0.0.0.0",
		"/x/b1-native-1/data":           "/x/${instance}/data",
		"b1-native-12":                  "b1-native-12",
		"at 10.0.0.2.":                  "at ${address}.",
	} {
		if got := r.plain(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestSettingsAreReadInTheSyntaxThatTheTextIsIn(t *testing.T) {
	for _, c := range []struct {
		path, text string
		want       map[string][]string
	}{
		{"nginx.conf", "user root; # me\nhttp { access_log /dev/stdout;\n server { listen 1:80; listen 2; location / { root \"/a;b\"; } } }", map[string][]string{
			"user": {"root"}, "http.access_log": {"/dev/stdout"}, "http.server.listen": {"1:80", "2"}, "http.server.location /.root": {"\"/a;b\""}}},
		{"my.cnf", "# x\n[mysqld]\nskip-name-resolve\ninnodb-buffer-pool-size = 128M\n[client]\nport=1\n", map[string][]string{
			"mysqld.skip_name_resolve": {""}, "mysqld.innodb_buffer_pool_size": {"128M"}, "client.port": {"1"}}},
		{"redis.conf", "# c\nsave 900 1\nsave 300 10\nappendonly no\n", map[string][]string{"save": {"900 1", "300 10"}, "appendonly": {"no"}}},
		{"app.properties", "a.b=c\nd: e\n", map[string][]string{"a.b": {"c"}, "d": {"e"}}},
		{"apache.conf", "Listen 80\n<VirtualHost *:80>\n  DocumentRoot /x\n</VirtualHost>\nTimeout 3", map[string][]string{
			"Listen": {"80"}, "VirtualHost *:80.DocumentRoot": {"/x"}, "Timeout": {"3"}}},
		{"c.yaml", "a:\n  b: 1\n  c: [x, y]\nd:\n  - e: 2\n", map[string][]string{"a.b": {"1"}, "a.c": {"x", "y"}, "d.0.e": {"2"}}},
		{"jvm.options", "-Xmx512M\n-XX:+UseG1GC\n-Da=b\n", map[string][]string{"-Xmx512M": {""}, "-XX:+UseG1GC": {""}, "-Da": {"b"}}},
		{"config.php", "<?php echo 1;", nil},
	} {
		if got := Settings(c.path, c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s holds %q, want %q", c.path, got, c.want)
		}
	}
}
