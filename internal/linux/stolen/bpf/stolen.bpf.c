// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
// Reads how long the hypervisor kept each core from running, in nanoseconds, from
// the scheduler's run queues. The symbol of the counters behind /proc/stat
// (kernel_cpustat) is only known in kernels with CONFIG_KALLSYMS_ALL, and they
// change with the timer tick; these change with each switch of tasks as well. The
// kernel lets only programs under the GPL read its memory, so this file is
// available under it as well as under tare's own licence.
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef unsigned short __u16;
typedef unsigned char __u8;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

#define MAX_CORES 1024

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	__u64 prev_steal_time;    // as of the last tick
	__u64 prev_steal_time_rq; // as of the last change of the queue's clock
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct {
	struct sched_entity se;
};

#pragma clang attribute pop

__u32 cores = 0;
struct rq *queues[MAX_CORES] = {};
__u64 stolen[MAX_CORES] = {};

// Runs once on each core. Every task, also the idle one, points to a queue of the
// core that it is on.
SEC("raw_tp")
int tare_find(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 core = bpf_get_smp_processor_id();

	if (core < MAX_CORES)
		queues[core] = task->se.cfs_rq->rq;
	return 0;
}

// Runs on any core and disturbs no other.
SEC("raw_tp")
int tare_read(void *ctx)
{
	for (__u32 core = 0; core < MAX_CORES && core < cores; core++) {
		__u64 tick = 0, queue = 0;

		if (bpf_core_field_exists(struct rq, prev_steal_time))
			tick = BPF_CORE_READ(queues[core], prev_steal_time);
		if (bpf_core_field_exists(struct rq, prev_steal_time_rq))
			queue = BPF_CORE_READ(queues[core], prev_steal_time_rq);
		stolen[core] = tick > queue ? tick : queue;
	}
	return 0;
}
