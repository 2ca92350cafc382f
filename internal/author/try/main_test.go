package try

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/agent"
	"tare/internal/agent/server"
	"tare/internal/environment"
	"tare/internal/usage"
)

// The test program is also the agent and the servers of images.
const (
	isAgent  = "TARE_TEST_IS_AGENT"
	isServer = "TARE_TEST_SERVES" // PROTOCOL ADDRESS
	waitsFor = "TARE_TEST_WAITS"  // the address that answers before the server listens
)

func TestMain(m *testing.M) {
	if os.Getenv(isAgent) != "" {
		_ = os.Unsetenv(isAgent) // not that of commands
		stdio := struct {
			io.Reader
			io.Writer
		}{os.Stdin, os.Stdout}
		if err := server.Serve(stdio, server.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if how := os.Getenv(isServer); how != "" {
		protocol, address, _ := strings.Cut(how, " ")
		fmt.Println(serve(protocol, address))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// serve listens at an address and speaks a protocol, until it is killed.
func serve(protocol, address string) error {
	if at := os.Getenv(waitsFor); at != "" {
		c, err := net.Dial("tcp", at)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return serveOn(protocol, l)
}

func serveOn(protocol string, l net.Listener) error {
	if protocol == "http" || protocol == "absent" {
		return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if protocol == "absent" && r.URL.Path != "/health" {
				http.NotFound(w, r)
			}
		}))
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		speak(protocol, c)
		c.Close()
	}
}

// speak answers one connection as the servers do.
func speak(protocol string, c net.Conn) {
	switch protocol {
	case "mysql":
		_, _ = c.Write([]byte("\x4a\x00\x00\x00\x0a8.4.3\x00and so on"))
	case "smtp":
		_, _ = c.Write([]byte("220 mail ESMTP\r\n"))
	case "postgres", "new-postgres", "its-postgres":
		// All of the message: a close with unread bytes may discard the answer.
		length := make([]byte, 4)
		_, _ = io.ReadFull(c, length)
		const most = 10000 // as PostgreSQL, which closes at what is no message of its own
		n := binary.BigEndian.Uint32(length)
		if n > most {
			return
		}
		message := make([]byte, n)
		_, _ = io.ReadFull(c, message[min(4, len(message)):])
		switch text := string(message[min(4, len(message)):]); {
		case text == "\x04\xd2\x16\x2f":
			_, _ = c.Write([]byte("N"))
		case !strings.HasPrefix(text, "\x00\x03\x00\x00"):
		case protocol == "new-postgres":
			_, _ = c.Write([]byte("E\x00\x00\x00\x50SFATAL\x00C57P03\x00Mthe database system is starting up\x00\x00"))
		case protocol == "its-postgres":
			_, _ = c.Write([]byte("R\x00\x00\x00\x17\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00"))
		default:
			_, _ = c.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00"))
		}
	case "redis", "closed-redis":
		in := bufio.NewReader(c)
		line, _ := in.ReadString('\n')
		switch {
		case line == "*2\r\n" && protocol == "closed-redis":
			for range 4 { // the lengths of both words, and they
				line, _ = in.ReadString('\n')
			}
			if line == "open sesame\r\n" {
				_, _ = c.Write([]byte("+OK\r\n"))
			} else {
				_, _ = c.Write([]byte("-WRONGPASS invalid username-password pair\r\n"))
			}
		case line != "PING\r\n":
			_, _ = c.Write([]byte("-ERR unknown command\r\n"))
		case protocol == "redis":
			_, _ = c.Write([]byte("+PONG\r\n"))
		default:
			_, _ = c.Write([]byte("-NOAUTH Authentication required.\r\n"))
		}
	}
}

// instance has the agent alone, in the network of this machine.
type instance struct {
	environment.Started
	pid int
}

func (i *instance) Stop(context.Context) error { return nil }
func (i *instance) Footprint() usage.Footprint {
	return usage.Footprint{Processes: []usage.Process{{PID: i.pid, Role: usage.Agent}}}
}

func newInstance(t *testing.T) *instance {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), isAgent+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	client, err := agent.Connect(context.Background(), struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		_ = cmd.Wait()
	})
	return &instance{environment.Started{Client: client, IP: "127.0.0.1"}, cmd.Process.Pid}
}
