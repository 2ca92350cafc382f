// Package failing ends work at its first error, wherever in the work that is, for code that
// would only pass the error on. It stays within a package: its callers get the error. It
// also stays within a goroutine: code that uses it starts none, where nobody would catch
// the panic.
//
// It must not know what is done.
package failing

import "fmt"

type failure struct{ error }

// If ends the work if there is an error.
func If(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// With ends the work with an error, which is made as by fmt.Errorf.
func With(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

// Must is the value; an error ends the work.
func Must[T any](value T, err error) T {
	If(err)
	return value
}

// Caught is the error that ends the work; nil if none does. Other panics go on.
func Caught(work func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.error
		default:
			panic(p)
		}
	}()
	work()
	return nil
}
