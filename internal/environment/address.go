package environment

import "errors"

// ErrOneAddress is wrapped by the error of a start that would give two instances of a
// network the same address.
var ErrOneAddress = errors.New("another instance of this network has its only address")
