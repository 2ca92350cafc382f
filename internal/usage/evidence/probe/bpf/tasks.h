/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What the programs and the reader of their maps in Go agree on. layout.go
 * is the Go side of the types and constants.
 */
#ifndef TARE_TASKS_H
#define TARE_TASKS_H

#include "kernel.h"

/* Limits of the maps. */
enum limit {
	MAX_TASKS = 32768,
	MAX_STACKS = 32768,
	MAX_FRAMES = 48,
	/* Parts of the environment by number; the one after the last is the whole host. */
	MAX_PARTS = 8,
	HOST_PART = MAX_PARTS,
};

/* The counters of a part. */
enum slot {
	SLOT_SYSCALL = 0, /* by number */
	MAX_SYSCALLS = 512,
	SLOT_VOLUNTARY = SLOT_SYSCALL + MAX_SYSCALLS,
	SLOT_INVOLUNTARY,
	SLOT_MINOR,
	SLOT_MAJOR,
	SLOT_SOFTIRQ, /* by number */
	MAX_SOFTIRQS = 10,
	SLOT_PROCESS = SLOT_SOFTIRQ + MAX_SOFTIRQS, /* started */
	SLOT_THREAD,
	SLOT_TRANSFER, /* by direction, object and size: see transfer_slot */
	MAX_TRANSFERS = 28,
	SLOTS = SLOT_TRANSFER + MAX_TRANSFERS,
};

/* What a system call transfers to or from. */
enum object {
	OBJECT_FILE,
	OBJECT_PIPE,
	OBJECT_UNIX,
	OBJECT_TCP,
	OBJECT_UDP,
	OBJECT_OTHER, /* devices, events, timers */
	OBJECT_OUTPUT, /* a pipe that is standard output or standard error */
	OBJECTS,
};

/* A transfer is small up to so many bytes. */
enum size {
	SMALL = 4096,
};

struct counter {
	__u64 count;
	__u64 nanoseconds;
	__u64 waited; /* nanoseconds off the processor meanwhile */
	__u64 blocked; /* times that the task gave the processor away meanwhile */
	__u64 bytes;  /* of transfers */
};

#define NO_CALL (~0ULL)

/* A task that belongs to the environment. */
struct task {
	__u64 part;
	__u64 call;	 /* number of the system call that it is in, or NO_CALL */
	__u64 since;	 /* when that began */
	__u64 since_off; /* value of off when that began */
	__u64 off_at;	 /* when it left the processor; 0 while it runs */
	__u64 off;	 /* nanoseconds off the processor in total */
	__u64 blocked;	 /* voluntary switches in this call */
	__u64 minor;	 /* page faults before the counting began */
	__u64 major;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_TASKS);
	__type(key, __u32); /* thread ID */
	__type(value, struct task);
} tare_tasks SEC(".maps");

static __always_inline struct task *find_task(__u32 tid)
{
	return bpf_map_lookup_elem(&tare_tasks, &tid);
}

static __always_inline struct task *current_task(void)
{
	return find_task(bpf_get_current_pid_tgid());
}

static __always_inline void add(__u64 *to, __u64 n)
{
	__sync_fetch_and_add(to, n);
}

#endif
