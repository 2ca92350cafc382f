package wire

import (
	"io"
	"testing"
	"testing/synctest"
)

// deaf loses so many of the first bytes.
type deaf struct {
	io.Writer
	lost int
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.lost > 0 {
		d.lost--
		return len(p), nil
	}
	return d.Writer.Write(p)
}

func calling(from io.Reader, to io.Writer) *Greeter {
	g := NewGreeter(from)
	go g.Call(to)
	return g
}

func TestAnAgentThatIsNotHeardAtFirstIsCalledAgain(t *testing.T) {
	for lost := range 4 {
		synctest.Test(t, func(t *testing.T) {
			in, fromClient := io.Pipe()
			out, toClient := io.Pipe()
			defer in.Close()
			ended := make(chan error)
			go func() {
				err := AwaitClient(in, &deaf{toClient, lost})
				if err == nil {
					_, err = io.WriteString(toClient, Preamble+"more")
				}
				toClient.Close()
				ended <- err
			}()
			got, err := io.ReadAll(calling(out, fromClient))
			if failed := <-ended; failed != nil || err != nil || string(got) != Preamble+"more" {
				t.Errorf("%d lost: read %q, %v, %v", lost, got, err, failed)
			}
		})
	}
}

func TestOtherOutputThanAnAnswerIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, toClient := io.Pipe()
		in, fromClient := io.Pipe()
		go func() {
			_, _ = io.WriteString(toClient, "sh: not found\n")
			toClient.Close()
			in.Close()
		}()
		if got, err := io.ReadAll(calling(out, fromClient)); err != nil || string(got) != "sh: not found\n" {
			t.Errorf("read %q, %v", got, err)
		}
	})
}
