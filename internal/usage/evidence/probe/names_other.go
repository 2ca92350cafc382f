//go:build !amd64 && !arm64

package probe

var syscallNames map[int]string // calls are named by their numbers
