package failing

import (
	"errors"
	"io/fs"
	"testing"
)

func TestWorkEndsAtItsFirstError(t *testing.T) {
	went := false
	err := Caught(func() {
		defer func() { went = true }()
		If(nil)
		if Must(1, nil) != 1 {
			t.Error("a value is another one")
		}
		With("of a file: %w", fs.ErrExist)
		t.Error("it went on")
	})
	if !errors.Is(err, fs.ErrExist) || err.Error() != "of a file: file already exists" || !went {
		t.Error(err, went)
	}
	if err := Caught(func() { Must(0, fs.ErrClosed) }); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	if err := Caught(func() {}); err != nil {
		t.Error(err)
	}
}

func TestAPanicIsNotTakenForAnError(t *testing.T) {
	defer func() {
		if recover() != "broken" {
			t.Error("the panic is gone")
		}
	}()
	_ = Caught(func() { panic("broken") })
}
