package probe

import "strconv"

//go:generate go run ./names amd64
//go:generate go run ./names arm64

// syscallName returns the name of a system call, or its number if it has none.
func syscallName(number int) string {
	if name, known := syscallNames[number]; known {
		return name
	}
	return strconv.Itoa(number)
}
