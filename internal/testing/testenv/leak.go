package testenv

import "go.uber.org/goleak"

// EngineConnections are goroutines that are no leaks where tests start containers
// through an engine: an environment keeps its client, and the client keeps up to
// six idle connections for 30 seconds; the one to an API server, of HTTP/2, longer.
func EngineConnections() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
	}
}
