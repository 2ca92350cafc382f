package testenv

import "go.uber.org/goleak"

// EngineConnections are goroutines that are no leaks where tests start containers
// through an engine: an environment keeps its client, and the client keeps up to
// six idle connections for 30 seconds.
func EngineConnections() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	}
}
