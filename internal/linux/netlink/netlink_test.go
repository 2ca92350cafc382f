package netlink

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestAttributesAreFoundAmongOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 20), 1, 8).Draw(t, "values")
		var list []byte
		for i, v := range values {
			list = append(list, Attribute(uint16(i+1), v)...)
		}
		if len(list)%4 != 0 {
			t.Fatalf("%d bytes are not aligned", len(list))
		}
		for i, v := range values {
			if got := Find(list, uint16(i+1)); got == nil || !bytes.Equal(got, v) {
				t.Fatalf("attribute %d is %v, want %v", i+1, got, v)
			}
		}
		if got := Find(list, uint16(len(values)+1)); got != nil {
			t.Fatalf("one that is not there is %v", got)
		}
	})
}

func TestNoAnswerCanBeReadBeyondItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answer := rapid.SliceOf(rapid.Byte()).Draw(t, "answer")
		body, _ := Body(answer)
		Find(Find(body, 1), 2)
	})
}

func TestAnAnswerIsItsBodyOrTheKernelsError(t *testing.T) {
	answer := func(kind uint16, body ...byte) []byte { return Message(kind, 0, body) }
	if body, err := Body(answer(20, 1, 2, 3, 4)); err != nil || !bytes.Equal(body, []byte{1, 2, 3, 4}) {
		t.Errorf("%v, %v", body, err)
	}
	code := order.AppendUint32(nil, uint32(0xffffffff)) // -1
	if _, err := Body(answer(unix.NLMSG_ERROR, code...)); !errors.Is(err, unix.EPERM) {
		t.Errorf("the error is %v", err)
	}
	if _, err := Body(answer(unix.NLMSG_ERROR, 0, 0, 0, 0)); err != nil {
		t.Errorf("an acknowledgement is %v", err)
	}
	for _, short := range [][]byte{nil, {1, 2}, answer(unix.NLMSG_ERROR, 1)} {
		if _, err := Body(short); err == nil {
			t.Errorf("%v is taken", short)
		}
	}
}
