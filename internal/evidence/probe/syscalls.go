package probe

import "strconv"

//go:generate go run ./names amd64
//go:generate go run ./names arm64

// syscallName is what a system call is called; a number without a name stays
// one.
func syscallName(number int) string {
	if name, known := syscallNames[number]; known {
		return name
	}
	return strconv.Itoa(number)
}
