package virtualbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// client runs VBoxManage, one command at a time.
type client struct {
	Program string `json:"program"`
	RunAs   string `json:"run_as,omitempty"`
}

// The error codes of VirtualBox that tare handles.
const (
	notFound = "VBOX_E_OBJECT_NOT_FOUND"
	badState = "VBOX_E_INVALID_OBJECT_STATE" // locked by a session
)

// refusal is a failed command of VBoxManage.
type refusal struct {
	words []string
	exit  string
	text  string // its error messages, without the prefix and the details
	code  string // such as VBOX_E_OBJECT_NOT_FOUND; "" if there is none
}

func (r *refusal) Error() string {
	return fmt.Sprintf("VBoxManage %s: %s (%s)", strings.Join(r.words, " "), r.text, r.exit)
}

// refused reports whether an error is a refusal with this code.
func refused(err error, code string) bool {
	var r *refusal
	return errors.As(err, &r) && r.code == code
}

// off reports whether an error means that the VM is already off.
func off(err error) bool {
	var r *refusal
	return errors.As(err, &r) && (strings.Contains(r.text, "is not currently running") || strings.Contains(r.text, "Invalid machine state: PoweredOff"))
}

var (
	complaint = regexp.MustCompile(`(?m)^[^\s:]*VBoxManage(?:\.exe)?: error: (.*)$`)
	codeWord  = regexp.MustCompile(`^Details: code ([A-Z_]+)`)
)

// run runs a command and returns its stdout.
func (c client) run(ctx context.Context, words ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Program, words...)
	// VBoxManage cancels its operation on SIGINT and cleans up; SIGKILL would leave
	// an incomplete clone.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = cancelling
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := c.as(cmd); err != nil {
		return "", err
	}
	err := cmd.Run()
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("VBoxManage %s: %w", strings.Join(words, " "), context.Cause(ctx))
	}
	return "", explain(words, err.Error(), errs.String())
}

// cancelling is the timeout of VBoxManage for cancelling an operation.
const cancelling = 30 * time.Second

// explain parses the stderr of VBoxManage.
func explain(words []string, exit, stderr string) *refusal {
	r := &refusal{words: words, exit: exit}
	var messages []string
	for _, match := range complaint.FindAllStringSubmatch(stderr, -1) {
		if code := codeWord.FindStringSubmatch(match[1]); code != nil {
			r.code = code[1]
		} else if !strings.HasPrefix(match[1], "Context: ") {
			messages = append(messages, match[1])
		}
	}
	if r.text = strings.Join(messages, "; "); r.text == "" {
		r.text = strings.TrimSpace(stderr)
	}
	if r.code != "" {
		r.text += ", " + r.code
	}
	return r
}

// as makes a command run as the user RunAs, who owns the VMs.
func (c client) as(cmd *exec.Cmd) error {
	if c.RunAs == "" {
		return nil
	}
	u, err := user.Lookup(c.RunAs)
	if err != nil {
		return fmt.Errorf("run_as: %w", err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("run_as: %w", err)
	}
	credential := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	groups, _ := u.GroupIds()
	for _, group := range groups {
		if n, err := strconv.ParseUint(group, 10, 32); err == nil {
			credential.Groups = append(credential.Groups, uint32(n))
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME="+u.HomeDir, "USER="+u.Username, "LOGNAME="+u.Username)
	return nil
}

// retryLocked runs a command, and again while the VM is locked: VirtualBox unlocks a
// VM some time after its process has exited.
func (c client) retryLocked(ctx context.Context, words ...string) (string, error) {
	deadline := time.Now().Add(unlocking)
	for {
		out, err := c.run(ctx, words...)
		if !refused(err, badState) || time.Now().After(deadline) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(pace):
		}
	}
}

const (
	unlocking = 30 * time.Second
	pace      = 200 * time.Millisecond
)

// info is the output of showvminfo --machinereadable: key to value, without quotes.
type info map[string]string

func (c client) info(ctx context.Context, vm string) (info, error) {
	out, err := c.run(ctx, "showvminfo", vm, "--machinereadable")
	if err != nil {
		return nil, err
	}
	return parseInfo(out), nil
}

// parseInfo parses lines of key=value. Keys and values may be quoted. Of values with
// several lines only the first is kept.
func parseInfo(text string) info {
	i := info{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if !ok {
			continue
		}
		if rest, quoted := strings.CutPrefix(line, `"`); quoted { // "a=b"="c"
			if k, v, whole := strings.Cut(strings.TrimRight(rest, "\r\n"), `"=`); whole {
				key, value = k, v
			}
		}
		value = strings.TrimPrefix(value, `"`)
		i[strings.Trim(key, `"`)] = strings.TrimSuffix(value, `"`)
	}
	return i
}

// forwards reports whether the VM's first adapter has a forwarding rule of this name.
func (i info) forwards(name string) bool {
	for key, value := range i {
		// Forwarding(0)="tare-ssh,tcp,127.0.0.1,40001,,22"
		if strings.HasPrefix(key, "Forwarding(") && strings.HasPrefix(value, name+",") {
			return true
		}
	}
	return false
}

// list returns the names of all registered VMs.
func (c client) list(ctx context.Context) ([]string, error) {
	out, err := c.run(ctx, "list", "vms")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(out) { // "name" {uuid}
		line = strings.TrimRight(line, "\r\n")
		if end := strings.LastIndex(line, `" {`); strings.HasPrefix(line, `"`) && end > 0 {
			names = append(names, line[1:end])
		}
	}
	return names, nil
}

// extra returns a value of the VM's extra data; "" if it is not set.
func (c client) extra(ctx context.Context, vm, key string) (string, error) {
	out, err := c.run(ctx, "getextradata", vm, key)
	if err != nil {
		return "", err
	}
	value, _ := strings.CutPrefix(strings.TrimRight(out, "\r\n"), "Value: ")
	if value == "No value set!" {
		return "", nil
	}
	return value, nil
}

var versionLine = regexp.MustCompile(`(?m)^(\d+)\.\d+\.\d+\S*$`)

// version returns the version of VirtualBox, such as 7.0.20r163906, and the warning
// that VBoxManage prints before it.
func (c client) version(ctx context.Context) (version, warning string, err error) {
	out, err := c.run(ctx, "--version")
	if err != nil {
		return "", "", err
	}
	if version = versionLine.FindString(out); version == "" {
		return "", "", fmt.Errorf("%s --version printed %q, which contains no version", c.Program, strings.TrimSpace(out))
	}
	warning, _, _ = strings.Cut(out, version)
	return version, strings.Join(strings.Fields(warning), " "), nil
}
