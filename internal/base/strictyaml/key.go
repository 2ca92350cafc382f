package strictyaml

import "fmt"

// KeyError is an error of the value at a key; its text begins with the key.
type KeyError struct {
	Key string
	Err error
}

func (e *KeyError) Error() string { return e.Key + ": " + e.Err.Error() }

func (e *KeyError) Unwrap() error { return e.Err }

// AtKey is a KeyError.
func AtKey(key, format string, args ...any) error {
	return &KeyError{key, fmt.Errorf(format, args...)}
}
