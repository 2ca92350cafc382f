package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"tare/internal/testing/imagetest"
	"testing"
)

func TestManyAskAndOneBuilds(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "thing")
	var built atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		s, err := Open(directory) // a store of its own each, as several processes have
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			err := s.Once(t.Context(), "thing", path, func(temporary string) error {
				built.Add(1)
				return os.WriteFile(temporary, []byte("whole"), 0o644)
			})
			if err != nil || ReadText(path) != "whole" {
				t.Errorf("%v, %q", err, ReadText(path))
			}
		})
	}
	all.Wait()
	if built.Load() != 1 {
		t.Errorf("it was built %d times", built.Load())
	}
}

func TestABuildThatBreaksLeavesNothingToBeMistakenForAResult(t *testing.T) {
	s := imagetest.Must(Open(t.TempDir()))
	path := s.Path("guests", "x")
	broken := errors.New("broken")
	err := s.Once(t.Context(), "guest-x", path, func(temporary string) error {
		if err := os.WriteFile(temporary, []byte("half"), 0o644); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if left := imagetest.Must(os.ReadDir(s.Path("guests"))); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWaitingForALockCanBeCalledOff(t *testing.T) {
	s := imagetest.Must(Open(t.TempDir()))
	unlock, err := s.Lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Lock(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFilesAreListedInADirectoryOfAnyName(t *testing.T) {
	for _, name := range []string{"plain", `a\nb`, "[images]", "what?", "*"} {
		d, err := Open(filepath.Join(t.TempDir(), name), "recipes")
		if err == nil {
			err = os.WriteFile(d.Path("recipes", "one.json"), nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Glob("recipes/*.json"); !slices.Equal(got, []string{d.Path("recipes", "one.json")}) {
			t.Errorf("in a directory called %q: %q", name, got)
		}
	}
}
