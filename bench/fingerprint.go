package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"tare/internal/agent"
	"tare/internal/base/failing"
	"tare/internal/environment"
	"tare/internal/parity/fingerprint"
	"tare/internal/stats"
)

// fingerprints is the number of fingerprints of each environment.
const fingerprints = 15

// measureFingerprint measures the time of the fingerprint of one instance with a
// server, which a run takes once for each environment and workload. The
// environments are interleaved.
func measureFingerprint(ctx context.Context, s *session) (rows []row) {
	const target = "≤ 300 ms"
	type subject struct {
		what    string
		of      fingerprint.Subject
		seconds []float64
	}
	var subjects []*subject
	for _, kind := range []string{"native", "docker", "gvisor", "oci", "bubblewrap"} {
		what := "fingerprint of one instance: " + kind
		env, missing := s.environment(ctx, kind, "{}", s.image)
		if missing != "" {
			rows = append(rows, row{what, target, "not measured: " + missing, "?"})
			continue
		}
		i := failing.Must(env.Start(ctx, environment.Request{Name: "fingerprint-" + kind, Owner: s.owner, Image: s.image, Console: io.Discard}))
		defer func() { failing.If(i.Stop(context.WithoutCancel(ctx))) }()
		server := failing.Must(i.Agent().Start(ctx, agent.Command{Argv: []string{"/bin/sh", "-c", "exec sleep 3600"}, Stdout: io.Discard, Stderr: io.Discard}))
		subjects = append(subjects, &subject{what: what, of: fingerprint.Subject{
			Instance: i, Env: s.image.Env, Servers: []fingerprint.Server{{Name: "server", Role: "server", PID: server.PID()}},
			Drivers: []fingerprint.Driver{{Role: "driver", Words: []string{"/bin/bash"}}}, Paths: []string{"/data/pages"},
			Files: []fingerprint.File{{Role: "server", Path: "/etc/nsswitch.conf"}},
		}})
	}
	for range fingerprints {
		for _, one := range subjects {
			began := time.Now()
			if _, err := fingerprint.Facts(ctx, one.of); err != nil {
				failing.With("%s: %w", one.what, err)
			}
			one.seconds = append(one.seconds, time.Since(began).Seconds())
		}
	}
	for _, one := range subjects {
		median, most := stats.Quantile(one.seconds, 0.5), stats.Quantile(one.seconds, 1)
		rows = append(rows, row{one.what, target, fmt.Sprintf("median %.0f ms, maximum of %d: %.0f ms", 1e3*median, fingerprints, 1e3*most), verdict(median <= 0.3)})
	}
	return rows
}
