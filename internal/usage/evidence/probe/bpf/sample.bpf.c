// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
// Samples at regular intervals which part of the environment a processor works
// for, and the kernel's stack. The kernel lets only programs under the GPL read
// stacks, so this file is available under it as well as under tare's own licence.
#include "tasks.h" // tare_tasks is shared with count.bpf.c by the loader

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, MAX_STACKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, MAX_FRAMES * sizeof(__u64));
} tare_stacks SEC(".maps");

struct sample {
	__u32 part;
	__s32 stack; // ID in tare_stacks, or a negative error number
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_STACKS);
	__type(key, struct sample);
	__type(value, __u64); // number of samples
} tare_samples SEC(".maps");

SEC("perf_event")
int tare_sample(void *ctx)
{
	struct task *task = current_task();
	struct sample sample = { .part = task ? task->part : HOST_PART };
	__u64 none = 0, *samples;

	sample.stack = bpf_get_stackid(ctx, &tare_stacks, 0); // -EFAULT in user mode
	// Another stack has the same hash. Without its innermost frame it has another.
	if (sample.stack == -EEXIST)
		sample.stack = bpf_get_stackid(ctx, &tare_stacks, 1);
	bpf_map_update_elem(&tare_samples, &sample, &none, BPF_NOEXIST);
	samples = bpf_map_lookup_elem(&tare_samples, &sample);
	if (samples)
		add(samples, 1);
	return 0;
}
