package probe

import (
	"slices"
	"strings"
)

// section is a part of the kernel, by the names of its functions.
type section struct {
	Name  string
	About string
	// Prefixes of its functions' names, and names of its modules, for where it
	// is not built in.
	Prefixes, Modules []string
}

// The sections that are not about a part of the kernel.
const (
	probeSection = "probe" // the overhead of the probe
	otherSection = "other" // functions that no section lists
)

// sections of the kernel. A sample belongs to that of the innermost function on
// the stack that a section lists. Of several prefixes the longest counts.
var sections = []section{
	{"overlay", "the overlay file system, without the file systems below it",
		[]string{"ovl_", "backing_file_"}, []string{"overlay"}},
	{"filesystem", "file systems on disks and in memory, and the page cache",
		[]string{"ext4_", "jbd2_", "xfs_", "btrfs_", "f2fs_", "iomap_", "shmem_", "filemap_", "__filemap_", "generic_file_", "generic_perform_write", "page_cache_", "writeback_", "wb_", "folio_"},
		[]string{"ext4", "jbd2", "xfs", "btrfs", "f2fs"}},
	{"vfs", "opening, walking paths, and what all file systems share",
		[]string{"vfs_", "__vfs_", "do_filp_open", "path_", "link_path_walk", "walk_component", "lookup_fast", "lookup_one", "__d_lookup", "d_", "dput", "lockref_", "do_sys_open", "do_open", "filename_", "getname", "alloc_empty_file", "fput", "__fput", "do_sendfile", "splice_", "do_splice", "seq_", "proc_", "kernfs_"}, nil},
	{"fuse", "file systems in user space, and 9p and virtiofs",
		[]string{"fuse_", "p9_", "v9fs_", "virtio_fs_"}, []string{"fuse", "9p", "9pnet", "virtiofs"}},
	{"block", "block devices",
		[]string{"blk_", "__blk", "bio_", "submit_bio", "virtblk_", "nvme_", "loop_", "dm_", "scsi_", "io_schedule"}, []string{"virtio_blk", "nvme", "loop", "dm_mod"}},
	{"netfilter", "packet filter, connection tracking and NAT",
		[]string{"nf_", "__nf_", "nft_", "ipt_", "ip6t_", "xt_", "iptable_", "ip_vs_", "ipv4_conntrack", "tcp_in_window"},
		[]string{"nf_", "nft_", "xt_", "ip_tables", "ip6_tables", "x_tables", "iptable_", "br_netfilter", "ip_vs"}},
	{"bridge", "forwarding on a bridge", []string{"br_", "__br_"}, []string{"bridge"}},
	{"veth", "sending over a veth pair", []string{"veth_"}, []string{"veth"}},
	{"loopback", "sending over the loopback interface", []string{"loopback_"}, nil},
	{"tap", "interfaces and network back ends of virtual machines",
		[]string{"tun_", "tap_", "vhost_", "handle_tx", "handle_rx"}, []string{"tun", "tap", "vhost", "vhost_net", "vhost_vsock"}},
	{"network", "sockets, TCP, UDP, IP, and forwarding",
		[]string{"tcp_", "__tcp_", "udp_", "__udp_", "ip_", "__ip_", "ip6_", "ipv6_", "inet_", "__inet_", "inet6_", "sock_", "__sock_", "sk_", "__sk_", "skb_", "__skb_", "kfree_skb", "consume_skb", "__kfree_skb", "__alloc_skb", "napi_", "__napi_", "net_rx_action", "dev_", "__dev_", "netif_", "__netif_", "process_backlog", "release_sock", "__release_sock", "lock_sock", "eth_", "neigh_", "unix_", "netlink_", "fib_", "dst_", "arp_", "packet_", "qdisc_", "__qdisc", "sch_", "fq_", "pfifo_", "__sys_sendto", "__sys_recvfrom", "__sys_sendmsg", "___sys_", "__sys_accept", "virtnet_", "start_xmit", "enqueue_to_backlog"}, nil},
	{"epoll", "waiting for many files at once",
		[]string{"ep_", "do_epoll", "__ep_", "do_sys_poll", "do_select", "core_sys_select", "poll_", "__pollwait", "eventfd_"}, nil},
	{"pipe", "reading and writing pipes", []string{"anon_pipe_", "pipe_", "fifo_"}, nil},
	{"seccomp", "system call filters", []string{"seccomp", "__seccomp", "__secure_computing", "populate_seccomp"}, nil},
	{"lsm", "security modules", []string{"security_", "selinux_", "avc_", "apparmor_", "aa_", "landlock_", "cap_", "smack_", "tomoyo_"}, nil},
	{"cgroup", "accounting and limits of cgroups",
		[]string{"mem_cgroup_", "__mem_cgroup", "charge_memcg", "try_charge_memcg", "memcg_", "cgroup_", "__cgroup_", "css_", "refill_stock", "consume_stock", "obj_cgroup_", "throttle_cfs", "unthrottle_cfs", "blkcg_", "psi_", "cpuacct_"}, nil},
	{"memory", "page faults and mappings",
		[]string{"handle_mm_fault", "__handle_mm_fault", "do_user_addr_fault", "exc_page_fault", "asm_exc_page_fault", "do_anonymous_page", "do_fault", "do_wp_page", "do_mmap", "vm_mmap", "mmap_region", "__mmap_", "do_munmap", "do_vmi_", "unmap_", "zap_", "exit_mmap", "free_pgtables", "do_mprotect", "mprotect_", "do_madvise", "madvise_", "tlb_", "flush_tlb", "native_flush_tlb", "vma_", "find_vma", "lru_", "khugepaged", "do_brk", "get_user_pages", "damon_", "__damon_", "kdamond", "page_vma_", "rmap_walk"}, nil},
	{"scheduler", "switching between tasks, and waking them",
		[]string{"schedule", "__schedule", "try_to_wake_up", "ttwu_", "wake_", "__wake_", "enqueue_task", "enqueue_entity", "dequeue_", "pick_", "put_prev_", "set_next_", "update_curr", "update_load", "update_rq", "finish_task_switch", "__switch_to", "switch_mm", "switch_fpu", "select_task_rq", "sched_", "__sched_", "prepare_to_wait", "finish_wait", "autoremove_wake", "preempt_schedule", "resched_"}, nil},
	{"futex", "locks of user space", []string{"futex_", "do_futex", "__futex", "get_futex", "plist_"}, nil},
	{"ptrace", "signals, and processes that watch others", []string{"ptrace_", "__ptrace", "do_signal", "get_signal", "do_send_sig", "send_signal", "signal_", "arch_do_signal", "restore_sigcontext", "setup_rt_frame", "__send_signal", "dequeue_signal"}, nil},
	{"process", "starting and ending processes",
		[]string{"kernel_clone", "copy_process", "copy_mm", "dup_", "do_exit", "do_group_exit", "release_task", "bprm_", "do_execve", "load_elf", "begin_new_exec", "wait_", "do_wait", "kernel_wait4"}, nil},
	{"kvm", "virtual machines", []string{"kvm_", "__kvm_", "vmx_", "svm_", "vcpu_"}, []string{"kvm", "kvm_intel", "kvm_amd"}},
	{"timer", "timers and clocks", []string{"hrtimer_", "__hrtimer", "tick_", "timerfd_", "do_nanosleep", "clock_", "ktime_", "run_timer", "call_timer"}, nil},
	{"entry", "entry to and exit from the kernel",
		[]string{"entry_SYSCALL", "do_syscall_64", "x64_sys_call", "syscall_", "exit_to_user", "irqentry_", "asm_sysvec", "asm_common", "el0_", "el0t_", "invoke_syscall", "__x64_sys", "__arm64_sys", "do_el0_svc"}, nil},
	{"softirq", "softirqs, apart from the functions of other sections", []string{"handle_softirqs", "__do_softirq", "do_softirq", "irq_exit", "run_ksoftirqd", "__local_bh_enable"}, nil},
	{probeSection, "the overhead of the probe", []string{"bpf_trace_run", "__bpf_trace_", "trace_call_bpf", "perf_", "__perf_", "__traceiter_"}, nil},
}

// idlePrefixes are of the functions that an idle processor executes.
var idlePrefixes = []string{"do_idle", "cpu_startup_entry", "default_idle", "pv_native_safe_halt", "acpi_idle", "intel_idle", "cpuidle_"}

// sectionOf returns the section of a stack, whose innermost function comes
// first; "" for an idle processor.
func sectionOf(stack []symbol) string {
	for _, s := range stack {
		if isProbe(s.name) {
			return probeSection
		}
		if slices.ContainsFunc(idlePrefixes, func(prefix string) bool { return strings.HasPrefix(s.name, prefix) }) {
			return ""
		}
		if name := s.section(); name != "" {
			return name
		}
	}
	return otherSection
}

// isProbe reports whether a function is a program of the probe, as the kernel
// names them: bpf_prog_, a checksum, and the program's name.
func isProbe(function string) bool {
	return strings.HasPrefix(function, "bpf_prog_") && strings.Contains(function, "_tare_")
}

// section returns the section that lists the function; "" if none does.
func (s symbol) section() string {
	best, longest := "", 0
	for _, one := range sections {
		for _, prefix := range one.Prefixes {
			if len(prefix) > longest && strings.HasPrefix(s.name, prefix) {
				best, longest = one.Name, len(prefix)
			}
		}
	}
	if best != "" || s.module == "" {
		return best
	}
	for _, one := range sections {
		for _, module := range one.Modules {
			// A name such as nf_ is a prefix of many modules.
			if s.module == module || strings.HasSuffix(module, "_") && strings.HasPrefix(s.module, module) {
				return one.Name
			}
		}
	}
	return ""
}
