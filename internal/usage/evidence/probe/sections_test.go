package probe

import (
	"strings"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// stackOf is written innermost first.
func stackOf(text string) (stack []symbol) {
	for _, name := range strings.Fields(text) {
		name, module, _ := strings.Cut(name, "@")
		stack = append(stack, symbol{name: name, module: module})
	}
	return stack
}

func TestASampleCountsForTheInnermostKnownFunction(t *testing.T) {
	for stack, want := range map[string]string{
		"memcpy_orig ovl_lookup_single ovl_lookup path_openat do_filp_open do_sys_openat2 do_syscall_64":                    "overlay",
		"ext4_file_read_iter backing_file_read_iter ovl_read_iter vfs_read do_syscall_64":                                   "filesystem",
		"_raw_spin_lock backing_file_read_iter ovl_read_iter vfs_read do_syscall_64":                                        "overlay",
		"hash_conntrack_raw nf_conntrack_in nf_hook_slow ip_rcv net_rx_action handle_softirqs tcp_sendmsg":                  "netfilter",
		"ipt_do_table nf_hook_slow ip_local_out tcp_sendmsg":                                                                "netfilter",
		"fib_table_lookup ip_route_input_slow ip_rcv br_pass_frame_up br_handle_frame_finish br_handle_frame net_rx_action": "network",
		"br_handle_frame_finish br_handle_frame net_rx_action handle_softirqs":                                              "bridge",
		"hash_thing@nf_conntrack ip_rcv": "netfilter",
		"some_helper@overlay vfs_read":   "overlay",
		"bpf_prog_1f2e3d4c5b6a7988 __seccomp_filter syscall_trace_enter do_syscall_64":                               "seccomp",
		"htab_map_lookup_elem bpf_prog_1f2e3d4c5b6a7988_tare_enter bpf_trace_run2 syscall_trace_enter do_syscall_64": "probe",
		"anon_pipe_write vfs_write ksys_write do_syscall_64 entry_SYSCALL_64_after_hwframe":                          "pipe",
		"try_to_wake_up __wake_up_sync_key anon_pipe_write vfs_write":                                                "scheduler",
		"try_charge_memcg charge_memcg __mem_cgroup_charge do_anonymous_page handle_mm_fault asm_exc_page_fault":     "cgroup",
		"clear_page_erms do_anonymous_page handle_mm_fault asm_exc_page_fault":                                       "memory",
		"pv_native_safe_halt default_idle do_idle cpu_startup_entry":                                                 "",
		"net_rx_action handle_softirqs irq_exit_rcu sysvec_apic_timer_interrupt pv_native_safe_halt do_idle":         "network",
		"vcpu_run kvm_arch_vcpu_ioctl_run kvm_vcpu_ioctl":                                                            "kvm",
		"tun_net_xmit dev_hard_start_xmit br_forward br_handle_frame":                                                "tap",
		"nobody_knows": "other",
		"":             "other",
	} {
		if got := sectionOf(stackOf(stack)); got != want {
			t.Errorf("%s\nis in %q, want %q", stack, got, want)
		}
	}
}

// Of two prefixes of one function the longer counts; the same prefix in
// two sections would be decided by their order.
func TestNoTwoSectionsClaimTheSame(t *testing.T) {
	owner := map[string]string{}
	for _, s := range sections {
		if s.Name == "" || s.About == "" || len(s.Prefixes) == 0 {
			t.Errorf("a section lacks something: %+v", s)
		}
		for _, prefix := range s.Prefixes {
			if other := owner[prefix]; other != "" {
				t.Errorf("%s and %s both claim %s", other, s.Name, prefix)
			}
			owner[prefix] = s.Name
		}
	}
}

func TestSymbolsAreFoundByAnyAddressWithin(t *testing.T) {
	symbols, err := parseSymbols(strings.NewReader(`ffffffff81859ef0 t ovl_read_iter
ffffffff81859f90 T ovl_write_iter
ffffffff82000000 D some_data
ffffffff81f285d0 T nf_hook_slow
ffffffffc0001000 t br_forward	[bridge]
`))
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[uint64]symbol{
		0xffffffff81859ef0: {0xffffffff81859ef0, "ovl_read_iter", ""},
		0xffffffff81859f8f: {0xffffffff81859ef0, "ovl_read_iter", ""},
		0xffffffff81859f90: {0xffffffff81859f90, "ovl_write_iter", ""},
		0xffffffffc0001010: {0xffffffffc0001000, "br_forward", "bridge"},
		0x1000:             {},
	} {
		if got := symbols.find(at); got != want {
			t.Errorf("%x is in %+v, want %+v", at, got, want)
		}
	}
	if _, err := parseSymbols(strings.NewReader("0000000000000000 T nf_hook_slow\n")); err == nil || !strings.Contains(err.Error(), "kptr_restrict") {
		t.Errorf("hidden addresses: %v", err)
	}
}

func TestSystemCallsHaveTheirNamesOnEveryArchitecture(t *testing.T) {
	here := calls
	defer func() { calls = here }()
	for goarch, want := range map[string]map[int]string{
		"amd64": {0: "read", 1: "write", 262: "newfstatat", 281: "epoll_pwait", 426: "io_uring_enter", 5000: "5000"},
		"arm64": {63: "read", 64: "write", 79: "newfstatat", 22: "epoll_pwait", 426: "io_uring_enter", 5000: "5000"},
		"none":  {0: "0"},
	} {
		calls, _ = arch.GetInfo(goarch)
		for number, name := range want {
			if got := syscallName(number); got != name {
				t.Errorf("%s: call %d is %s, not %s", goarch, number, got, name)
			}
		}
	}
}
