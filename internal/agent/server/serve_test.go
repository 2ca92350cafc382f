package server_test

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/agent/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBothSidesSpeakOverAPipeInMemory(t *testing.T) {
	// This process starts nothing: Serve would bury it.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	host, conn := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(conn, server.Options{}) }()
	c, err := agent.Connect(ctx, host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Clock(ctx); err != nil {
		t.Error(err)
	}
	path := t.TempDir() + "/file"
	if err := c.WriteFile(ctx, path, 0, []byte("x")); err != nil {
		t.Error(err)
	}
	if b, err := c.ReadFile(ctx, path, 0); err != nil || string(b) != "x" {
		t.Error(b, err)
	}
	if err := c.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
