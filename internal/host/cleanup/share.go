package cleanup

import (
	"context"
	"sync"
)

// shared is a value that several users of an owner have.
type shared struct {
	mu    sync.Mutex // held while the value is opened or closed
	users int
	value any
	close func(context.Context) error
}

// Share returns the owner's value for a key. The first user opens it, later ones get the
// same value, and the release of the last one closes it. After an error of the close,
// release may be called again; any other further call does nothing.
func Share[T any](o *Owner, key string, open func() (T, func(context.Context) error, error)) (value T, release func(context.Context) error, err error) {
	o.mu.Lock()
	if o.shared == nil {
		o.shared = map[string]*shared{}
	}
	s := o.shared[key]
	if s == nil {
		s = &shared{}
		o.shared[key] = s
	}
	o.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		opened, close, err := open()
		if err != nil {
			return value, nil, err
		}
		s.value, s.close = opened, close
	}
	s.users++
	uses := true
	return s.value.(T), func(ctx context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if uses {
			uses = false
			s.users--
		}
		if s.users > 0 || s.close == nil {
			return nil
		}
		err := s.close(ctx)
		if err == nil {
			s.value, s.close = nil, nil
		}
		return err
	}, nil
}

// OncePerKey caches what make returns for a key, for the lifetime of the process. After
// an error it is tried again.
func OncePerKey[K comparable, V any](make func(K) (V, error)) func(K) (V, error) {
	var mu sync.Mutex
	known := map[K]V{}
	return func(key K) (V, error) {
		mu.Lock()
		defer mu.Unlock()
		if value, ok := known[key]; ok {
			return value, nil
		}
		value, err := make(key)
		if err == nil {
			known[key] = value
		}
		return value, err
	}
}
