package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"tare/internal/base/bounded"
	"tare/internal/environment"
	"tare/internal/linux/virtnet"
	"tare/internal/usage"
)

// protocol is the version of the messages.
const protocol = 1

// preamble is the first word of the server's stream, before the multiplexer, so
// that output of anything else is recognized.
const preamble = "tare-host"

// hello follows the preamble and the protocol's version, on the same line.
type hello struct {
	Version string `json:"version"`
	Home    string `json:"home"`
	Kernel  string `json:"kernel"`
	CPUs    int    `json:"cpus"`
	// Addresses are the host's own IPv4 addresses.
	Addresses []string `json:"addresses,omitempty"`
}

// The calls. Each has a stream of its own in the multiplexer: a request, then
// events up to the one with the result or an error.
const (
	callCheck    = "check"
	callDescribe = "describe"
	callImage    = "image"   // after a Want event the tar follows, Size bytes
	callPrepare  = "prepare" // can be cancelled
	callStart    = "start"   // can be cancelled; console events follow until the instance is stopped
	callFind     = "find"
	callAgent    = "agent" // after the request the stream carries the agent's protocol
	callMeter    = "meter" // a Begun event, and readings if requested; a line from the client ends it
	callUsed     = "used"
	callLimits   = "limits"
	callFreeze   = "freeze"
	callThaw     = "thaw"
	callStop     = "stop"
	callNetwork  = "network"
	callOverlay  = "overlay" // the host's part of a network over several
	callReach    = "reach"
	callClose    = "close"
)

// request starts a call; each call uses some of the fields.
type request struct {
	Call     string             `json:"call"`
	Kind     string             `json:"kind,omitempty"`
	Options  json.RawMessage    `json:"options,omitempty"`
	Name     string             `json:"name,omitempty"`
	Image    *imageFacts        `json:"image,omitempty"`
	Limits   environment.Limits `json:"limits,omitzero"`
	Network  uint64             `json:"network,omitempty"`
	Overlay  *virtnet.Overlay   `json:"overlay,omitempty"`
	Instance uint64             `json:"instance,omitempty"`
	Every    time.Duration      `json:"every,omitempty"`
	Live     bool               `json:"live,omitempty"` // send every reading as it is made
}

// imageFacts are an image without its bytes.
type imageFacts struct {
	Digest string   `json:"digest"`
	Name   string   `json:"name"`
	Env    []string `json:"env,omitempty"`
	Dir    string   `json:"dir,omitempty"`
	Size   int64    `json:"size,omitempty"` // of its tar
}

// event is a message of the server. Result or Error ends the call.
type event struct {
	Say     string          `json:"say,omitempty"`
	Console []byte          `json:"console,omitempty"`
	Want    bool            `json:"want,omitempty"`
	Begun   bool            `json:"begun,omitempty"`
	Reading *usage.Reading  `json:"reading,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// The results.
type (
	checkResult struct {
		State    environment.State     `json:"state"`
		Findings []environment.Finding `json:"findings"`
	}
	description struct {
		Label    string            `json:"label,omitempty"`
		Versions map[string]string `json:"versions,omitempty"`
		Bridged  bool              `json:"bridged,omitempty"`
	}
	started struct {
		Instance uint64              `json:"instance"`
		Address  string              `json:"address,omitempty"`
		Phases   []environment.Phase `json:"phases"`
		Paths    environment.Paths   `json:"paths"`
		Notes    []string            `json:"notes,omitempty"`
		Details  environment.Details `json:"details"`
	}
	watched struct {
		Usage  usage.Usage   `json:"usage"`
		Series *usage.Series `json:"series"`
	}
	// frozen is the result of a freeze: why the instance can only wait idle, or "".
	frozen struct {
		Unsupported string `json:"unsupported,omitempty"`
	}
	// stopped says after how long the instance had exited; 0 is not known.
	stopped struct {
		Exit time.Duration `json:"exit,omitempty"`
	}
	networked struct {
		Network uint64 `json:"network"`
		Path    string `json:"path"`
		Host    string `json:"host"`
		Taken   bool   `json:"taken,omitempty"` // the addresses of an overlay, so that there is none
	}
)

// conversation is one call's stream, from either side. Messages are lines.
type conversation struct {
	stream io.ReadWriteCloser
	reader *bufio.Reader
}

func converse(stream io.ReadWriteCloser) *conversation {
	return &conversation{stream, bufio.NewReader(stream)}
}

func (c *conversation) send(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	_, err = c.stream.Write(append(text, '\n'))
	return err
}

func (c *conversation) receive(message any) error {
	line, err := bounded.ReadLine(c.reader, bounded.Line)
	if err != nil {
		return err
	}
	return json.Unmarshal(line, message)
}

// raw is the rest of the stream, with what the reader has buffered.
func (c *conversation) raw() io.ReadWriteCloser {
	return struct {
		io.Reader
		io.Writer
		io.Closer
	}{c.reader, c.stream, c.stream}
}

// readHello reads the first line of the server's stream.
func readHello(stream io.Reader) (hello, error) {
	var h hello
	line, err := readLine(stream)
	if err != nil {
		return h, fmt.Errorf("it sent no greeting: %w", err)
	}
	words := strings.SplitN(line, " ", 3)
	if len(words) < 3 || words[0] != preamble {
		return h, fmt.Errorf("something other than tare answered: %q", line)
	}
	if words[1] != strconv.Itoa(protocol) {
		return h, fmt.Errorf("the tare there uses protocol %s and this one %d: both must be the same version", words[1], protocol)
	}
	return h, json.Unmarshal([]byte(words[2]), &h)
}

// readLine reads byte by byte, so that the rest stays in the stream.
func readLine(from io.Reader) (string, error) {
	const longest = 4096
	line, one := []byte{}, make([]byte, 1)
	for len(line) < longest {
		if _, err := io.ReadFull(from, one); err != nil {
			if len(line) > 0 {
				return "", fmt.Errorf("it printed %q and exited", line)
			}
			return "", err
		}
		if one[0] == '\n' {
			break
		}
		line = append(line, one[0])
	}
	return string(line), nil
}

// because adds the cause of the context's end, if it has ended, to an error of the
// other side or of the link.
func because(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// Silence is the default time without data or a keep-alive from the other side
// after which the link counts as lost.
const Silence = 20 * time.Second

// link is a stream that keeps the reason of its end.
type link struct {
	io.ReadWriteCloser
	mu  sync.Mutex
	why error
	// beside says whether the other side does anything else; nil where that is not known.
	beside func() string
}

func (l *link) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = err
	}
}

func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

func (l *link) Read(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Read(p)
	if err == io.EOF {
		l.note(fmt.Errorf("its stream ended"))
	} else if err != nil {
		l.note(err)
	}
	return n, err
}

func (l *link) Write(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Write(p)
	if err != nil {
		l.note(err)
	}
	return n, err
}

// settings are those of the multiplexer. Its log becomes the link's reason.
func (l *link) settings(silence time.Duration) *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval = silence / 4
	c.ConnectionWriteTimeout = silence * 3 / 4
	c.StreamOpenTimeout = 0
	c.MaxStreamWindowSize = 4 << 20
	c.LogOutput, c.Logger = nil, log.New(logWriter{l, silence}, "", 0)
	return c
}

// logWriter receives the multiplexer's log.
type logWriter struct {
	link    *link
	silence time.Duration
}

func (c logWriter) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "keepalive failed") {
		beside := ""
		if c.link.beside != nil {
			beside = c.link.beside()
		}
		c.link.note(fmt.Errorf("no data for %v%s", c.silence, beside))
	}
	return len(line), nil
}
