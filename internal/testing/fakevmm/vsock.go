package fakevmm

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
)

// Bridge joins the guest's port with the sockets that stand for vsock: a guest
// that calls is led to the socket of its port, a guest that listens is called
// through the socket without a number. It returns when that socket is there.
func (m *Machine) Bridge(g *Guest) error {
	if g.VSock == "" {
		return nil
	}
	listener, err := net.Listen("unix", g.VSock)
	if err != nil {
		return err
	}
	port := g.Port()
	if strings.Contains(g.Line, "tare.await=1") {
		go m.take(listener, port)
		return nil
	}
	go func() {
		<-m.Opened
		host, err := net.Dial("unix", g.VSock+"_"+port)
		if err != nil {
			m.agent.Close() // nobody listens: the guest's connection is reset
			return
		}
		m.join(host)
	}()
	return nil
}

// take takes calls to the guest. One to a port where nobody listens is closed.
func (m *Machine) take(l net.Listener, port string) {
	for {
		host, err := l.Accept()
		if err != nil {
			return
		}
		if m.taken(host, port) {
			return
		}
		host.Close()
	}
}

// taken says whether the caller spoke to the guest.
func (m *Machine) taken(host net.Conn, port string) bool {
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
