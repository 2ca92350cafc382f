package guest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Config is the agent's part of the kernel command line.
type Config struct {
	Root     string   // tare.root=/dev/vda; "" stays in the initramfs
	Over     bool     // tare.over=1: overlayfs with the root disk as lower layer and the data disk as upper
	Data     string   // tare.data=/dev/vdb, mounted on /data
	Port     string   // tare.port=NAME of a virtio-serial port
	VSock    uint32   // tare.vsock=PORT, the host's, or the guest's with Await
	Await    bool     // tare.await=1: wait for the host's time before Hello
	Timer    uint64   // tare.timer=ADDRESS: of the VMM's boot timer
	Nets     []Net    // tare.net=ADDRESS/PREFIX[,GATEWAY[,NAMESERVER[,MTU]]], one for each interface
	Off      string   // tare.off=poweroff or reboot
	Hostname string   // tare.hostname=NAME
	Env      []string // tare.env=KEY=VALUE, any number of them
	PIDs     int      // tare.pids=N: pids.max of all user processes; 0 is no limit
}

// Net is the address of a network interface: the first is eth0's, the second
// eth1's.
type Net struct {
	Address    netip.Prefix
	Gateway    netip.Addr
	Nameserver netip.Addr
	MTU        int // 0 is the kernel's
}

// ParseCommandLine parses the kernel command line. It ignores parameters of
// others; an unknown parameter that begins with "tare." is an error.
func ParseCommandLine(line string) (Config, error) {
	c := Config{Off: "poweroff", Hostname: "tare"}
	for _, word := range split(line) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "tare.root":
			c.Root = value
		case "tare.data":
			c.Data = value
		case "tare.port":
			c.Port = value
		case "tare.vsock":
			_, err = fmt.Sscanf(value, "%d", &c.VSock)
		case "tare.over":
			c.Over, err = strconv.ParseBool(value)
		case "tare.await":
			c.Await, err = strconv.ParseBool(value)
		case "tare.timer":
			c.Timer, err = strconv.ParseUint(value, 0, 64)
		case "tare.net":
			var n Net
			n, err = parseNet(value)
			c.Nets = append(c.Nets, n)
		case "tare.off":
			if c.Off = value; value != "poweroff" && value != "reboot" {
				err = fmt.Errorf("it must be poweroff or reboot")
			}
		case "tare.pids":
			if _, err = fmt.Sscanf(value, "%d", &c.PIDs); err == nil && c.PIDs < 1 {
				err = fmt.Errorf("it must be a positive number")
			}
		case "tare.hostname":
			c.Hostname = value
		case "tare.env":
			if c.Env = append(c.Env, value); !strings.Contains(value, "=") {
				err = fmt.Errorf("it must be KEY=VALUE")
			}
		default:
			if strings.HasPrefix(key, "tare.") {
				err = fmt.Errorf("unknown parameter")
			}
		}
		if err != nil {
			return c, fmt.Errorf("kernel command line, %q: %w", word, err)
		}
	}
	if c.Over && (c.Root == "" || c.Data == "") {
		return c, fmt.Errorf("kernel command line: tare.over needs tare.root and tare.data")
	}
	if (c.Port == "") == (c.VSock == 0) {
		return c, fmt.Errorf("kernel command line: exactly one of tare.port and tare.vsock must be set")
	}
	return c, nil
}

// split splits the line as the kernel does: at spaces, except between double
// quotes, which are removed.
func split(line string) (words []string) {
	var word strings.Builder
	quoted, any := false, false
	for _, c := range []byte(strings.TrimSpace(line) + " ") {
		switch {
		case c == '"':
			quoted, any = !quoted, true
		case !quoted && (c == ' ' || c == '\t' || c == '\n'):
			if any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteByte(c)
			any = true
		}
	}
	if any { // an open quote lasts to the end
		words = append(words, strings.TrimSuffix(word.String(), " "))
	}
	return words
}

func parseNet(text string) (n Net, err error) {
	parts := strings.Split(text, ",")
	if n.Address, err = netip.ParsePrefix(parts[0]); err != nil {
		return n, err
	}
	for i, to := range []*netip.Addr{&n.Gateway, &n.Nameserver} {
		if len(parts) > i+1 && parts[i+1] != "" {
			if *to, err = netip.ParseAddr(parts[i+1]); err != nil {
				return n, err
			}
		}
	}
	if len(parts) > 3 {
		if n.MTU, err = strconv.Atoi(parts[3]); err != nil {
			return n, err
		}
	}
	if len(parts) > 4 || n.MTU < 0 || !n.Address.Addr().Is4() || n.Gateway.IsValid() && !n.Gateway.Is4() {
		return n, fmt.Errorf("it must be ADDRESS/PREFIX[,GATEWAY[,NAMESERVER[,MTU]]] of IPv4")
	}
	return n, nil
}
