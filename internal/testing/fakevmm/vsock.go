package fakevmm

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
)

// bridge connects the guest's port with the sockets of its vsock: the agent of a
// guest that boots is connected to the socket of its port, and one that waits for
// the host (tare.await) to a connection to the socket without a port.
func (m *Machine) bridge(g *Guest) error {
	if g.VSock == "" {
		return nil
	}
	listener, err := net.Listen("unix", g.VSock)
	if err != nil {
		return fmt.Errorf("Cannot create backend for vsock device: UnixBind(%w)", err)
	}
	port := g.port()
	if strings.Contains(g.Line, "tare.await=1") {
		go m.serve(listener, port)
		return nil
	}
	go func() {
		<-m.Opened
		host, err := net.Dial("unix", g.VSock+"_"+port)
		if err != nil {
			m.agent.Close() // no listener: the guest's connection is reset
			return
		}
		m.join(host)
	}()
	return nil
}

// serve accepts connections to the guest. One to a port without a listener is
// closed.
func (m *Machine) serve(l net.Listener, port string) {
	for {
		host, err := l.Accept()
		if err != nil {
			return
		}
		if m.connect(host, port) {
			return
		}
		host.Close()
	}
}

// connect reports whether the host sent data to the guest.
func (m *Machine) connect(host net.Conn, port string) bool {
	in := bufio.NewReader(host)
	line, err := in.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "CONNECT "+port {
		return false
	}
	select {
	case <-m.Opened:
	default:
		return false
	}
	const hostPort = 1 << 30
	fmt.Fprintf(host, "OK %d\n", hostPort)
	first, err := in.ReadByte()
	if err != nil {
		return false
	}
	m.agent.Write([]byte{first})
	m.join(struct {
		io.Reader
		io.WriteCloser
	}{in, host})
	return true
}

func (m *Machine) join(host io.ReadWriteCloser) {
	go func() {
		io.Copy(m.agent, host)
		m.agent.Close()
	}()
	io.Copy(host, m.agent)
	host.Close()
}
