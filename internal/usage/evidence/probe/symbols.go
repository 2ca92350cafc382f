package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"
)

// symbol is a function of the kernel.
type symbol struct {
	address      uint64
	name, module string
}

// symbolTable holds the kernel's functions by address.
type symbolTable []symbol

// find returns the function that an address lies in.
func (t symbolTable) find(address uint64) symbol {
	i := sort.Search(len(t), func(i int) bool { return t[i].address > address })
	if i == 0 {
		return symbol{}
	}
	return t[i-1]
}

func readSymbols() (symbolTable, error) {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseSymbols(file)
}

// parseSymbols parses lines such as "ffffffff81859ef0 t ovl_read_iter [overlay]".
func parseSymbols(from io.Reader) (t symbolTable, err error) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || !strings.ContainsAny(fields[1], "tTwW") {
			continue
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("parsing /proc/kallsyms: not a symbol: %q", lines.Text())
		}
		if address == 0 {
			continue
		}
		s := symbol{address: address, name: fields[2]}
		if len(fields) > 3 {
			s.module = strings.Trim(fields[3], "[]")
		}
		t = append(t, s)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(t) == 0 {
		return nil, errors.New("/proc/kallsyms hides the addresses of the kernel's functions: see /proc/sys/kernel/kptr_restrict")
	}
	sort.SliceStable(t, func(i, j int) bool { return t[i].address < t[j].address })
	return t, nil
}
