// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
// Counts system calls, context switches, page faults and softirqs of the tasks
// in tare_tasks. The programs add the children of these tasks and remove tasks
// that exit. The kernel lets only programs under the GPL use its timers, so this
// file is available under it as well as under tare's own licence.
#include "tasks.h"

char LICENSE[] SEC("license") = "GPL";

// Whether system calls are timed, or only counted.
const volatile bool timed = 1;

// Whether the tracepoint sched_switch has the state of the previous task as its
// fourth argument (Linux 5.18). The loader finds out; an argument that is not
// there must not be read, and the verifier skips the branch.
const volatile bool switch_has_state = 1;

// The system calls that transfer bytes to or from a file descriptor, by number: 1 for
// those that read, 2 for those that write.
const volatile __u8 transfers[MAX_SYSCALLS] = {};

// Per processor, and still added to atomically: another program may interrupt.
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, (MAX_PARTS + 1) * SLOTS);
	__type(key, __u32); // part * SLOTS + slot
	__type(value, struct counter);
} tare_counters SEC(".maps");

// The softirq that runs on a processor.
struct processor {
	__u64 softirq; // its number + 1; 0 for none
	__u64 since;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct processor);
} tare_cpus SEC(".maps");

// Tasks that did not fit into tare_tasks.
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} tare_lost SEC(".maps");

// The object's type information holds these types: a test compares Go's with them.
const struct counter *generate_counter __attribute__((unused));
const enum slot *generate_slot __attribute__((unused));
const enum limit *generate_limit __attribute__((unused));
const enum object *generate_object __attribute__((unused));

static __always_inline struct counter *counter_of(__u64 part, __u32 slot)
{
	__u32 key = part * SLOTS + slot;

	return bpf_map_lookup_elem(&tare_counters, &key);
}

static __always_inline struct processor *this_processor(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&tare_cpus, &key);
}

static __always_inline void add_count(__u64 part, __u32 slot, __u64 count)
{
	struct counter *counter = counter_of(part, slot);

	if (counter)
		add(&counter->count, count);
}

SEC("tp_btf/sys_enter")
int tare_enter(__u64 *ctx) // struct pt_regs *regs, long number
{
	__u64 number = ctx[1];
	struct task *task = current_task();

	if (!task || number >= MAX_SYSCALLS)
		return 0;
	add_count(task->part, SLOT_SYSCALL + number, 1);
	if (!timed)
		return 0;
	task->call = number;
	task->since = bpf_ktime_get_ns();
	task->since_off = task->off;
	task->blocked = 0;
	return 0;
}

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFIFO 0010000
#define S_IFSOCK 0140000
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define SOCK_STREAM 1
#define SOCK_DGRAM 2

static __always_inline __u32 socket_object(struct socket *socket)
{
	__u16 family = BPF_CORE_READ(socket, sk, __sk_common.skc_family);
	__s16 type = BPF_CORE_READ(socket, type);

	if (family == AF_UNIX)
		return OBJECT_UNIX;
	if (family != AF_INET && family != AF_INET6)
		return OBJECT_OTHER;
	if (type == SOCK_STREAM)
		return OBJECT_TCP;
	return type == SOCK_DGRAM ? OBJECT_UDP : OBJECT_OTHER;
}

// What a file descriptor of the current task is.
static __always_inline __u32 object_of(__u32 fd)
{
	struct task_struct *current = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(current, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = 0;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return OBJECT_OTHER;
	if (bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return OBJECT_OTHER;
	switch (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) {
	case S_IFREG:
		return OBJECT_FILE;
	case S_IFIFO:
		return fd == 1 || fd == 2 ? OBJECT_OUTPUT : OBJECT_PIPE;
	case S_IFSOCK:
		return socket_object(BPF_CORE_READ(file, private_data));
	}
	return OBJECT_OTHER;
}

static __always_inline __u64 first_argument(void *regs)
{
	struct pt_regs___x86 *x86 = regs;
	struct pt_regs___arm64 *arm64 = regs;

	if (bpf_core_field_exists(x86->di))
		return BPF_CORE_READ(x86, di);
	if (bpf_core_field_exists(arm64->orig_x0))
		return BPF_CORE_READ(arm64, orig_x0);
	return ~0ULL;
}

static __always_inline __u32 transfer_slot(__u32 writes, __u32 object, bool large)
{
	return SLOT_TRANSFER + (writes * OBJECTS + object) * 2 + large;
}

SEC("tp_btf/sys_exit")
int tare_leave(__u64 *ctx) // struct pt_regs *regs, long result
{
	struct task *task = current_task();
	struct counter *counter;
	__u64 number, elapsed, waited;
	__s64 result = ctx[1];
	__u8 transfer;

	if (!task)
		return 0;
	number = task->call;
	if (number >= MAX_SYSCALLS)
		return 0; // the call began before the counting
	task->call = NO_CALL;
	elapsed = bpf_ktime_get_ns() - task->since;
	waited = task->off - task->since_off;
	counter = counter_of(task->part, SLOT_SYSCALL + number);
	if (!counter)
		return 0;
	add(&counter->nanoseconds, elapsed - waited);
	add(&counter->waited, waited);
	add(&counter->blocked, task->blocked);
	transfer = transfers[number];
	if (!transfer || result < 0)
		return 0;
	counter = counter_of(task->part, transfer_slot(transfer == 2, object_of(first_argument((void *)ctx[0])), result > SMALL));
	if (!counter)
		return 0;
	add(&counter->count, 1);
	add(&counter->nanoseconds, elapsed - waited);
	add(&counter->waited, waited);
	add(&counter->blocked, task->blocked);
	add(&counter->bytes, result);
	return 0;
}

// The state that the previous task of a switch is left in; 0 is ready to run.
static __always_inline __u64 state_after(__u64 *ctx, struct task_struct *prev)
{
	if (switch_has_state)
		return ctx[3] & 0x7fffffff;
	if (bpf_core_field_exists(prev->__state))
		return prev->__state;
	return ((struct task_struct___before_5_14 *)prev)->state;
}

SEC("tp_btf/sched_switch")
int tare_switch(__u64 *ctx) // bool preempt, prev, next, unsigned int prev_state
{
	__u64 now = bpf_ktime_get_ns();
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	bool preempted = ctx[0] & 0xff;
	struct task *task;

	task = find_task(prev->pid);
	if (task) {
		task->off_at = now;
		if (preempted || !state_after(ctx, prev))
			add_count(task->part, SLOT_INVOLUNTARY, 1);
		else {
			add_count(task->part, SLOT_VOLUNTARY, 1);
			task->blocked++;
		}
	}
	task = find_task(next->pid);
	if (task && task->off_at) {
		task->off += now - task->off_at;
		task->off_at = 0;
	}
	return 0;
}

static __always_inline void add_task(__u32 tid, struct task *task)
{
	__u32 key = 0;
	__u64 *lost;

	if (!bpf_map_update_elem(&tare_tasks, &tid, task, BPF_ANY))
		return;
	lost = bpf_map_lookup_elem(&tare_lost, &key);
	if (lost)
		add(lost, 1);
}

SEC("tp_btf/sched_process_fork")
int tare_fork(__u64 *ctx) // parent, child
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	struct task *of = find_task(parent->pid);

	if (of) {
		struct task task = { .part = of->part, .call = NO_CALL };

		add_task(child->pid, &task);
		add_count(of->part, child->tgid == parent->tgid ? SLOT_THREAD : SLOT_PROCESS, 1);
	}
	return 0;
}

// A thread that executes a program takes over the thread ID of its leader.
SEC("tp_btf/sched_process_exec")
int tare_exec(__u64 *ctx) // task, pid_t old_pid, bprm
{
	struct task_struct *current = (void *)ctx[0];
	__u32 old = ctx[1], tid = current->pid;
	struct task *of;

	if (old == tid)
		return 0;
	of = find_task(old);
	if (of) {
		struct task task = { .part = of->part, .call = NO_CALL, .minor = of->minor, .major = of->major };

		add_task(tid, &task);
	}
	return 0;
}

SEC("tp_btf/sched_process_exit")
int tare_exit(__u64 *ctx) // task
{
	struct task_struct *current = (void *)ctx[0];
	__u32 tid = current->pid;
	struct task *task = find_task(tid);

	if (!task)
		return 0;
	add_count(task->part, SLOT_MINOR, current->min_flt - task->minor);
	add_count(task->part, SLOT_MAJOR, current->maj_flt - task->major);
	bpf_map_delete_elem(&tare_tasks, &tid);
	return 0;
}

SEC("tp_btf/softirq_entry")
int tare_raised(__u64 *ctx) // unsigned int number
{
	struct processor *processor = this_processor();

	if (!processor)
		return 0;
	processor->softirq = ctx[0] + 1;
	processor->since = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void add_softirq(__u64 part, __u64 number, __u64 nanoseconds)
{
	struct counter *counter = counter_of(part, SLOT_SOFTIRQ + number);

	if (!counter)
		return;
	add(&counter->count, 1);
	add(&counter->nanoseconds, nanoseconds);
}

// Counts the softirq for the host, and for the part of the interrupted task.
SEC("tp_btf/softirq_exit")
int tare_served(__u64 *ctx)
{
	struct processor *processor = this_processor();
	struct task *task;
	__u64 number, nanoseconds;

	if (!processor)
		return 0;
	number = processor->softirq - 1;
	if (number >= MAX_SOFTIRQS)
		return 0; // it began before the counting
	nanoseconds = bpf_ktime_get_ns() - processor->since;
	processor->softirq = 0;
	add_softirq(HOST_PART, number, nanoseconds);
	task = current_task();
	if (task)
		add_softirq(task->part, number, nanoseconds);
	return 0;
}
