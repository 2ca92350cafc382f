package host

import (
	"io"
	"testing"
	"testing/synctest"
)

func TestAProgramThatCannotBeKilledDoesNotBlockItsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stdinR, stdinW := io.Pipe()
		stdoutR, _ := io.Pipe()
		killed := false
		p := &program{
			Reader: stdoutR, in: stdinW, ended: make(chan struct{}),
			kill: func() { killed = true }, release: func() { stdoutR.Close() },
		}
		if err := p.Close(); err != nil || !killed {
			t.Errorf("%v, killed %t", err, killed)
		}
		if _, err := stdinR.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("its standard input ends with %v", err)
		}
	})
}
