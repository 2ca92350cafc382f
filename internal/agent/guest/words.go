package guest

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Config are the parts of the kernel's command line that are meant for the
// agent.
type Config struct {
	Root     string   // tare.root=/dev/vda; "" stays in the initramfs
	Over     bool     // tare.over=1: the root is read-only, and what is written lies on the data disk
	Data     string   // tare.data=/dev/vdb, mounted on /data
	Port     string   // tare.port=NAME of a virtio-serial port
	VSock    uint32   // tare.vsock=PORT, on the host, or the guest's own with Await
	Await    bool     // tare.await=1: no word before the host has said the time
	Timer    uint64   // tare.timer=ADDRESS: where a byte says that the guest is up
	Nets     []Net    // tare.net=ADDRESS/PREFIX[,GATEWAY[,NAMESERVER]], one for each interface
	Off      string   // tare.off=poweroff or reboot
	Hostname string   // tare.hostname=NAME
	Env      []string // tare.env=KEY=VALUE, any number of them
	PIDs     int      // tare.pids=N, how many processes there may be beside the kernel's own; 0 is any number
}

// Net is the address of a network interface: the first word is eth0's, the next
// one eth1's.
type Net struct {
	Address    netip.Prefix
	Gateway    netip.Addr
	Nameserver netip.Addr
}

// ParseCommandLine reads the kernel's command line. Words of others are left alone, an
// unknown one that begins with "tare." is an error.
func ParseCommandLine(line string) (Config, error) {
	w := Config{Off: "poweroff", Hostname: "tare"}
	for _, word := range split(line) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "tare.root":
			w.Root = value
		case "tare.data":
			w.Data = value
		case "tare.port":
			w.Port = value
		case "tare.vsock":
			_, err = fmt.Sscanf(value, "%d", &w.VSock)
		case "tare.over":
			w.Over, err = strconv.ParseBool(value)
		case "tare.await":
			w.Await, err = strconv.ParseBool(value)
		case "tare.timer":
			w.Timer, err = strconv.ParseUint(value, 0, 64)
		case "tare.net":
			var n Net
			n, err = parseNet(value)
			w.Nets = append(w.Nets, n)
		case "tare.off":
			if w.Off = value; value != "poweroff" && value != "reboot" {
				err = fmt.Errorf("it is poweroff or reboot")
			}
		case "tare.pids":
			if _, err = fmt.Sscanf(value, "%d", &w.PIDs); err == nil && w.PIDs < 1 {
				err = fmt.Errorf("it is a positive number")
			}
		case "tare.hostname":
			w.Hostname = value
		case "tare.env":
			if w.Env = append(w.Env, value); !strings.Contains(value, "=") {
				err = fmt.Errorf("it takes KEY=VALUE")
			}
		default:
			if strings.HasPrefix(key, "tare.") {
				err = fmt.Errorf("this agent does not know that word")
			}
		}
		if err != nil {
			return w, fmt.Errorf("kernel command line, %q: %w", word, err)
		}
	}
	if w.Over && (w.Root == "" || w.Data == "") {
		return w, fmt.Errorf("kernel command line: tare.over takes a root and a data disk")
	}
	if (w.Port == "") == (w.VSock == 0) {
		return w, fmt.Errorf("kernel command line: one of tare.port and tare.vsock must name the channel to the host")
	}
	return w, nil
}

// split takes the line apart as the kernel does: at spaces, but not between
// double quotes, which are dropped.
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
	if len(parts) > 3 || !n.Address.Addr().Is4() || n.Gateway.IsValid() && !n.Gateway.Is4() {
		return n, fmt.Errorf("it takes ADDRESS/PREFIX[,GATEWAY[,NAMESERVER]] of IPv4")
	}
	return n, nil
}
