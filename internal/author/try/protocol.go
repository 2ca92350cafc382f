package try

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// answer is what a port said.
type answer struct {
	port   int
	load   string // the name of the load that fits
	status int    // of HTTP
	reason string // what it said, for people
	wrong  string // why the load would fail; "" if it would not
}

const (
	// greetingTimeout is how long a server has to speak first; one that waits for its
	// client says nothing.
	greetingTimeout = 300 * time.Millisecond
	replyTimeout    = 2 * time.Second
)

// usual are the protocols that are tried first at a port.
var usual = map[int]string{6379: "redis", 5432: "postgres", 3306: "mysql"}

// pages are ports at which HTTP is usual.
var pages = []int{80, 3000, 4000, 5000, 8000, 8008, 8080, 8081, 8888, 9090}

// Usual is the load that is usual at a port; "" for none.
func Usual(port int) string {
	if slices.Contains(pages, port) {
		return "http"
	}
	return usual[port]
}

// asked is what a load would ask a server.
type asked struct {
	path           string // of a page
	user, database string // of PostgreSQL
	password       bool   // there is one
	redis          string // its password; "" for none
}

// identify finds out what a port speaks. Where nothing else is recognized it is plain TCP;
// the error is that of connecting.
func identify(ctx context.Context, address string, port int, ask asked) (answer, error) {
	at := net.JoinHostPort(address, strconv.Itoa(port))
	greeting, err := exchange(ctx, at, nil, greetingTimeout)
	if err != nil {
		return answer{}, err
	}
	if a, ok := greeted(greeting); ok {
		a.port = port
		return a, nil
	}
	tries := []struct {
		load string
		ask  func() (answer, bool)
	}{
		{"http", func() (answer, bool) { return asHTTP(ctx, at, ask.path) }},
		{"redis", func() (answer, bool) {
			a, ok := asRedis(reply(ctx, at, []byte("PING\r\n")))
			if ok && a.wrong != "" && ask.redis != "" {
				a.wrong = passwordRefused(reply(ctx, at, fmt.Appendf(nil, "*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n", len(ask.redis), ask.redis)))
			}
			return a, ok
		}},
		// The request to use TLS, which every version of the protocol answers.
		{"postgres", func() (answer, bool) {
			a, ok := asPostgres(reply(ctx, at, []byte{0, 0, 0, 8, 4, 210, 22, 47}))
			if ok {
				a.wrong = ask.refused(reply(ctx, at, ask.startup()))
			}
			return a, ok
		}},
	}
	for i, t := range tries {
		if t.load == usual[port] {
			tries = slices.Insert(slices.Delete(slices.Clone(tries), i, i+1), 0, t)
			break
		}
	}
	for _, t := range tries {
		if a, ok := t.ask(); ok {
			a.port, a.load = port, t.load
			return a, nil
		}
	}
	return answer{port: port, load: "tcp", reason: "it accepts connections, and answered neither HTTP nor Redis nor PostgreSQL nor MySQL"}, ctx.Err()
}

// greeted recognizes a server that speaks first.
func greeted(said []byte) (answer, bool) {
	const header = 4 // length of the packet, its number
	switch {
	case len(said) == 0:
		return answer{}, false
	case len(said) > header && said[3] == 0 && said[header] == 10: // protocol version 10
		version, _, _ := bytes.Cut(said[header+1:], []byte{0})
		return answer{load: "mysql", reason: fmt.Sprintf("it greets as MySQL %q", clip(version))}, true
	case len(said) > header && said[3] == 0 && said[header] == 0xff:
		return answer{load: "mysql", reason: "it greets with an error of MySQL", wrong: fmt.Sprintf("MySQL answers %q", clip(said[header+1:]))}, true
	}
	return answer{load: "tcp", reason: fmt.Sprintf("it greets with %q", clip(said))}, true
}

func asHTTP(ctx context.Context, at, path string) (answer, bool) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+path, nil)
	if err != nil {
		return answer{}, false
	}
	// What is asked is this port alone: no proxy, and no redirection is followed.
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, false
	}
	response.Body.Close()
	status := strings.TrimSpace(fmt.Sprint(response.StatusCode, " ", http.StatusText(response.StatusCode))) // its own words may be anything
	a := answer{status: response.StatusCode, reason: fmt.Sprintf("it answers GET %s with %s", path, status)}
	if a.status >= 400 {
		a.wrong = fmt.Sprintf("GET %s gets the answer %s: name a page with --url /PATH", path, status)
	}
	return a, true
}

func asRedis(said []byte) (answer, bool) {
	line, _, _ := bytes.Cut(said, []byte("\r\n"))
	switch word, _, _ := bytes.Cut(line, []byte(" ")); string(word) {
	case "+PONG":
		return answer{reason: "it answers PING with PONG"}, true
	case "-NOAUTH", "-DENIED", "-NOPERM":
		return answer{reason: "it answers PING as Redis does", wrong: fmt.Sprintf("Redis answers %q: set its password with --env-var REDISCLI_AUTH=..., or start it without one and with protected-mode no", clip(line))}, true
	}
	return answer{}, false
}

// passwordRefused is why Redis does not take a password; "" if it does.
func passwordRefused(said []byte) string {
	line, _, _ := bytes.Cut(said, []byte("\r\n"))
	if bytes.HasPrefix(line, []byte("+OK")) {
		return ""
	}
	return fmt.Sprintf("Redis answers %q to the password: set another one with --env-var REDISCLI_AUTH=...", clip(line))
}

func asPostgres(said []byte) (answer, bool) {
	if len(said) == 1 && (said[0] == 'S' || said[0] == 'N') {
		return answer{reason: "it answers PostgreSQL's request for TLS"}, true
	}
	return answer{}, false
}

// startup is the message that begins a session of PostgreSQL.
func (a asked) startup() []byte {
	const version = 3 << 16
	text := "user\x00" + a.user + "\x00database\x00" + a.database + "\x00\x00"
	message := binary.BigEndian.AppendUint32(nil, uint32(8+len(text)))
	return append(binary.BigEndian.AppendUint32(message, version), text...)
}

// refused is why a session of PostgreSQL does not begin; "" if it does, as far as is known
// without the password.
func (a asked) refused(said []byte) string {
	const header = 5 // the type of the message, its length
	who := fmt.Sprintf("user %s, database %s", a.user, a.database)
	switch {
	case len(said) < header+4:
		return ""
	case said[0] == 'R' && binary.BigEndian.Uint32(said[header:]) != 0 && !a.password:
		return "PostgreSQL asks for a password of " + who + ": set it with --env-var POSTGRES_PASSWORD=..."
	case said[0] == 'E':
		for field := range bytes.SplitSeq(said[header:], []byte{0}) {
			if len(field) > 0 && field[0] == 'M' {
				return fmt.Sprintf("PostgreSQL refuses %s: %q: name others with --env-var POSTGRES_USER=... and POSTGRES_DB=...", who, clip(field[1:]))
			}
		}
	}
	return ""
}

// clip is what a message quotes of what a server said.
func clip(said []byte) []byte { return said[:min(len(said), 100)] }

// reply is what a server says to a message; nil if it says nothing.
func reply(ctx context.Context, at string, message []byte) []byte {
	said, _ := exchange(ctx, at, message, replyTimeout)
	return said
}

// exchange connects, sends a message, and reads what is there before the timeout. The
// error is that of connecting.
func exchange(ctx context.Context, at string, message []byte, timeout time.Duration) ([]byte, error) {
	dialer := net.Dialer{Timeout: replyTimeout}
	c, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	_ = c.SetDeadline(time.Now().Add(timeout))
	if _, err := c.Write(message); err != nil {
		return nil, nil
	}
	said := make([]byte, 4096)
	n, _ := c.Read(said)
	return said[:n], nil
}
