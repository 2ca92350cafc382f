/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The types of the kernel that the programs use, in place of a dump of all of
 * them (vmlinux.h). preserve_access_index makes each access to a field a CO-RE
 * relocation: the loader replaces the offset by that of the running kernel, so
 * neither the order of the fields here nor the ones left out matter.
 */
#ifndef TARE_KERNEL_H
#define TARE_KERNEL_H

typedef _Bool bool;
typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef int pid_t;

/* From include/uapi/linux/bpf.h. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_STACK_TRACE = 7,
};

#define BPF_ANY 0
#define BPF_NOEXIST 1

/* From include/uapi/asm-generic/errno-base.h. */
#define EEXIST 17

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode {
	unsigned short i_mode;
};

struct file {
	struct inode *f_inode;
	void *private_data; /* of a socket: struct socket */
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct sock_common {
	unsigned short skc_family;
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	short type;
	struct sock *sk;
};

/* The first argument of a system call, which is still there at its end. */
struct pt_regs___x86 {
	unsigned long di;
};

struct pt_regs___arm64 {
	__u64 orig_x0;
};

struct task_struct {
	pid_t pid;
	pid_t tgid;
	struct files_struct *files;
	unsigned int __state;
	unsigned long min_flt;
	unsigned long maj_flt;
};

/* Before Linux 5.14. The loader ignores what follows the three underscores. */
struct task_struct___before_5_14 {
	volatile long state;
};

#pragma clang attribute pop

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#endif
