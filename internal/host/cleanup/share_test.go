package cleanup

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestASharedValueIsOpenedOnceAndClosedAfterItsLastRelease(t *testing.T) {
	o, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	var opened, closed int
	share := func(key string) (*int, func(context.Context) error) {
		value, release, err := Share(o, key, func() (*int, func(context.Context) error, error) {
			opened++
			return new(int), func(context.Context) error { closed++; return nil }, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return value, release
	}
	var users sync.WaitGroup
	first, release := share("a")
	for range 4 {
		users.Go(func() {
			again, release := share("a")
			if again != first {
				t.Error("another user has another value")
			}
			_ = release(t.Context())
			_ = release(t.Context()) // counts once
		})
	}
	users.Wait()
	if opened != 1 || closed != 0 {
		t.Fatalf("opened %d times and closed %d times while it was used", opened, closed)
	}
	if other, release := share("b"); other == first || release(t.Context()) != nil || closed != 1 {
		t.Errorf("another key has the same value, or it was closed %d times", closed)
	}
	if err := release(t.Context()); err != nil || closed != 2 {
		t.Errorf("after the last release: %v, closed %d times", err, closed)
	}
	if again, release := share("a"); again == first || release(t.Context()) != nil || closed != 3 {
		t.Errorf("a value that was closed was handed out, or the new one was closed %d times", closed)
	}
}

func TestReleaseOfASharedValueThatCouldNotBeClosedIsTriedAgain(t *testing.T) {
	o, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	failure := errors.New("not yet")
	if _, _, err := Share(o, "key", func() (int, func(context.Context) error, error) { return 0, nil, failure }); !errors.Is(err, failure) {
		t.Fatalf("an open that fails gives %v", err)
	}
	attempts := 0
	_, release, err := Share(o, "key", func() (int, func(context.Context) error, error) {
		return 1, func(context.Context) error {
			if attempts++; attempts == 1 {
				return failure
			}
			return nil
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []error{failure, nil, nil} {
		if err := release(t.Context()); !errors.Is(err, want) {
			t.Errorf("release gives %v, want %v", err, want)
		}
	}
	if attempts != 2 {
		t.Errorf("it was closed %d times", attempts)
	}
}
