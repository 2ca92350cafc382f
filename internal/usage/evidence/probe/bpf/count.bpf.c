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
	return 0;
}

SEC("tp_btf/sys_exit")
int tare_leave(__u64 *ctx)
{
	struct task *task = current_task();
	struct counter *counter;
	__u64 number, elapsed, waited;

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
		else
			add_count(task->part, SLOT_VOLUNTARY, 1);
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
