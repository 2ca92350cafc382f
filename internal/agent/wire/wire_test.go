package wire

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func frames() *rapid.Generator[Frame] {
	return rapid.Custom(func(t *rapid.T) Frame {
		return Frame{
			Type:    Type(rapid.IntRange(int(TypeHello), int(TypeError)).Draw(t, "type")),
			Request: rapid.Uint32().Draw(t, "request"),
			Payload: rapid.SliceOfN(rapid.Byte(), 0, 2*Chunk).Draw(t, "payload"),
		}
	})
}

func equal(a, b Frame) bool {
	return a.Type == b.Type && a.Request == b.Request && bytes.Equal(a.Payload, b.Payload)
}

func TestFramesSurviveAnyFragmentationOfTheStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := rapid.SliceOfN(frames(), 0, 8).Draw(t, "frames")
		var stream bytes.Buffer
		w := NewWriter(&stream)
		if err := w.Preamble(); err != nil {
			t.Fatal(err)
		}
		for _, f := range sent {
			if err := w.Write(f); err != nil {
				t.Fatal(err)
			}
		}
		source := io.Reader(&stream)
		if rapid.Bool().Draw(t, "cut") {
			source = iotest.OneByteReader(source)
		}
		r := NewReader(source)
		if err := r.Preamble(); err != nil {
			t.Fatal(err)
		}
		for i, want := range sent {
			got, err := r.Next()
			if err != nil || !equal(got, want) {
				t.Fatalf("frame %d of %d: %v", i, len(sent), err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("after the last frame: %v", err)
		}
	})
}

func TestAStreamThatEndsInsideAFrameIsAnError(t *testing.T) {
	var whole bytes.Buffer
	NewWriter(&whole).Write(Frame{TypeStdout, 7, []byte("hello")})
	for cut := 1; cut < whole.Len(); cut++ {
		_, err := NewReader(bytes.NewReader(whole.Bytes()[:cut])).Next()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
}

func TestOutputOfAProgramThatIsNotTheAgentIsQuoted(t *testing.T) {
	for text, words := range map[string]string{
		"exec: tare-agent: not found\n": `exec: tare-agent: not found`,
		"tare-agent 2\n":                `tare-agent 2`,
		"tare-ag":                       `ended after "tare-ag"`,
		"":                              `ended after ""`,
	} {
		err := NewReader(strings.NewReader(text)).Preamble()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzReader feeds arbitrary bytes. Nothing may crash, and what is taken for a
// frame must be what a writer would have written.
func FuzzReader(f *testing.F) {
	var seed bytes.Buffer
	w := NewWriter(&seed)
	w.Write(Frame{TypeStart, 1, []byte(`{"argv":["true"]}`)})
	w.Write(Credit(1, 4096))
	w.Write(Frame{TypeEnd, 1, nil})
	f.Add(seed.Bytes())
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, byte(TypeStdout), 0, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 0, 99, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		var again bytes.Buffer
		w := NewWriter(&again)
		for {
			frame, err := r.Next()
			if err != nil {
				break
			}
			frame.Granted()
			var m Start
			frame.Decode(&m)
			w.Write(frame)
		}
		if !bytes.HasPrefix(data, again.Bytes()) {
			t.Errorf("%x was read as %x", data, again.Bytes())
		}
	})
}

func TestAMessageThatIsTooLongIsRefusedBeforeItBreaksTheStream(t *testing.T) {
	if _, err := JSON(TypeStart, 1, Start{Argv: []string{strings.Repeat("x", MaxPayload)}}); err == nil {
		t.Error("it was accepted")
	}
}

func TestTheInboxHoldsAWindowAndNoMore(t *testing.T) {
	b := NewInbox(1)
	for range Window / Chunk {
		if !b.Put(Frame{Type: TypeData, Payload: make([]byte, Chunk)}) {
			t.Fatal("it is full below a window")
		}
	}
	if !b.Put(Frame{Type: TypeEnd}) {
		t.Error("a frame without data does not fit")
	}
	if b.Put(Frame{Type: TypeData, Payload: []byte{1}}) {
		t.Error("more than a window fits")
	}
	stop := make(chan struct{})
	close(stop)
	for range Window/Chunk + 2 {
		if _, ok := b.Take(stop, nil); !ok {
			t.Fatal("what is queued is lost when waiting ends")
		}
	}
	if _, ok := b.Take(stop, nil); ok {
		t.Error("an empty inbox gave a frame")
	}
}

func TestTheInboxHoldsFewFramesWithoutData(t *testing.T) {
	for name, f := range map[string]Frame{"empty": {Type: TypeData}, "ends": {Type: TypeEnd}, "replies": {Type: TypeReply, Payload: make([]byte, 1000)}} {
		b, bytes := NewInbox(1), 0
		for b.Put(f) {
			if bytes += headerSize + len(f.Payload); bytes > MaxControl {
				t.Fatalf("%s: more than %d bytes fit", name, bytes)
			}
		}
	}
	b := NewInbox(1)
	if b.Put(Frame{Type: TypeReply, Payload: make([]byte, MaxControl)}) {
		t.Error("a frame that is too long fits")
	}
}

func TestNeverMoreThanAWindowIsInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, consumed, underWay := NewSendWindow(), ReceiveWindow{}, 0
		stop := make(chan struct{})
		close(stop)
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, Chunk), 1, 200).Draw(t, "sizes") {
			got := a.Take(n, stop, nil)
			underWay += got
			if got > n || underWay > Window {
				t.Fatalf("%d bytes are under way", underWay)
			}
			if got == 0 || rapid.Bool().Draw(t, "receive") {
				if grant := consumed.Add(underWay); grant > 0 {
					a.Add(grant)
				}
				underWay = 0
			}
		}
	})
}
