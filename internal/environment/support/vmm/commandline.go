package vmm

import (
	"fmt"
	"strconv"
	"strings"

	"tare/internal/linux/virtnet"
)

// maxCommandLine is COMMAND_LINE_SIZE of an x86 kernel, without the terminator.
const maxCommandLine = 2047

// KernelLine is what the command line of a guest's kernel has besides the words of its VMM.
type KernelLine struct {
	Port  *virtnet.Port // nil without a network
	PIDs  int           // 0 is no limit
	Env   []string      // the image's environment, KEY=VALUE
	Extra string        // the option kernel_args
}

// After appends to the words of the VMM.
func (k KernelLine) After(words ...string) string {
	if k.Port != nil {
		words = append(words, netWord(k.Port))
	}
	if k.PIDs > 0 {
		words = append(words, fmt.Sprintf("tare.pids=%d", k.PIDs))
	}
	for _, entry := range k.Env {
		words = append(words, `"tare.env=`+entry+`"`)
	}
	if k.Extra != "" {
		words = append(words, k.Extra)
	}
	return strings.Join(words, " ")
}

// netWord is the guest's part of a port.
func netWord(p *virtnet.Port) string {
	word := "tare.net=" + p.Address.String()
	if p.Gateway.IsValid() {
		word += "," + p.Gateway.String()
	}
	if p.MTU > 0 {
		word += strings.Repeat(",", 3-strings.Count(word, ",")) + strconv.Itoa(p.MTU)
	}
	return word
}

// Check returns an error if a command line cannot hold the configuration. by is a VMM that
// adds some characters itself, "" for none.
func (k KernelLine) Check(line, by string, added int) error {
	for _, entry := range k.Env {
		if strings.ContainsAny(entry, "\"\n") {
			return fmt.Errorf("the image's environment has %q, and a kernel command line cannot have double quotes or newlines", entry)
		}
	}
	parts := "the image's environment and kernel_args"
	if by != "" {
		parts = "the image's environment, kernel_args and what " + by + " adds"
	}
	if n := len(line) + added; n > maxCommandLine {
		return fmt.Errorf("the guest's kernel command line, with %s, has %d characters, and the kernel accepts at most %d", parts, n, maxCommandLine)
	}
	return nil
}
