package kvm

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The ioctl requests of linux/kvm.h for a single virtual CPU.
const (
	getAPIVersion       = 0xAE00
	createVM            = 0xAE01
	getVCPUMmapSize     = 0xAE04
	getSupportedCPUID   = 0xC008AE05
	createVCPU          = 0xAE41
	setUserMemoryRegion = 0x4020AE46
	setTSSAddress       = 0xAE47
	runVCPU             = 0xAE80
	setRegisters        = 0x4090AE82
	getSystemRegisters  = 0x8138AE83
	setSystemRegisters  = 0x4138AE84
	setCPUID            = 0x4008AE90

	apiVersion = 12
	exitHalt   = 5
)

type memoryRegion struct {
	slot, flags           uint32
	guest, size, userland uint64
}

type registers struct {
	rax, rbx, rcx, rdx, rsi, rdi, rsp, rbp uint64
	r8, r9, r10, r11, r12, r13, r14, r15   uint64
	rip, rflags                            uint64
}

type segment struct {
	base                                 uint64
	limit                                uint32
	selector                             uint16
	kind, present, dpl, db, s, l, g, avl uint8
	unusable, padding                    uint8
}

type table struct {
	base    uint64
	limit   uint16
	padding [3]uint16
}

type systemRegisters struct {
	cs, ds, es, fs, gs, ss, tr, ldt segment
	gdt, idt                        table
	cr0, cr2, cr3, cr4, cr8         uint64
	efer, apicBase                  uint64
	interrupts                      [4]uint64
}

// cpuid is struct kvm_cpuid2 with room for as many entries as KVM accepts.
type cpuid struct {
	entries, padding uint32
	entry            [256]struct {
		function, index, flags uint32
		eax, ebx, ecx, edx     uint32
		padding                [3]uint32
	}
}

// runState is the beginning of struct kvm_run, which KVM shares for a virtual CPU.
type runState struct {
	_          [8]byte
	exitReason uint32
}

// The guest's memory: page tables that identity-map the first 2 MiB, and the
// code.
const (
	pml4At     = 0x1000
	pdptAt     = 0x2000
	pdAt       = 0x3000
	codeAt     = 0x4000
	memorySize = 2 << 20

	present   = 1 << 0
	writable  = 1 << 1
	largePage = 1 << 7
)

// code counts rcx down to 0 and halts: two instructions per iteration, in 64-bit
// mode like a kernel.
var code = []byte{
	0x48, 0xff, 0xc9, // dec rcx
	0x75, 0xfb, // jnz dec
	0xf4, // hlt
}

const instructionsPerIteration = 2

// machine is a VM with one virtual CPU. It is never closed: the process exits
// after the measurement.
type machine struct {
	cpu   int
	state *runState
}

// newMachine calls begin before each step. An error is that of the last one.
func newMachine(device string, begin func(step string)) (*machine, error) {
	begin(opening)
	kvm, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	begin("reading its version")
	version, err := ioctl(kvm, getAPIVersion, 0)
	if err != nil {
		return nil, fmt.Errorf("KVM_GET_API_VERSION: %w", err)
	}
	if version != apiVersion {
		return nil, fmt.Errorf("KVM_GET_API_VERSION: %d instead of %d", version, apiVersion)
	}
	begin("creating a VM")
	vm, err := ioctl(kvm, createVM, 0)
	if err != nil {
		return nil, fmt.Errorf("KVM_CREATE_VM: %w", err)
	}
	// Older Intel processors need this before a virtual CPU runs. On others its
	// error does not matter.
	_, _ = ioctl(vm, setTSSAddress, 0xfffbd000)
	begin("giving a VM memory")
	if err := addMemory(vm); err != nil {
		return nil, err
	}
	begin("creating a virtual CPU")
	m, err := addCPU(kvm, vm)
	if err != nil {
		return nil, err
	}
	// Without it the virtual CPU has no 64-bit mode, and newer kernels refuse to
	// switch it there.
	begin("giving a virtual CPU its CPUID")
	if err := copyCPUID(kvm, m.cpu); err != nil {
		return nil, err
	}
	begin("switching a virtual CPU to 64-bit mode")
	return m, enterLongMode(m.cpu)
}

// addMemory gives a VM its page tables and code.
func addMemory(vm int) error {
	memory, err := unix.Mmap(-1, 0, memorySize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("mapping %d bytes: %w", memorySize, err)
	}
	entry := func(at int, value uint64) { *(*uint64)(unsafe.Pointer(&memory[at])) = value }
	entry(pml4At, pdptAt|present|writable)
	entry(pdptAt, pdAt|present|writable)
	entry(pdAt, 0|present|writable|largePage)
	copy(memory[codeAt:], code)
	region := memoryRegion{size: memorySize, userland: uint64(uintptr(unsafe.Pointer(&memory[0])))}
	if _, err := ioctl(vm, setUserMemoryRegion, uintptr(unsafe.Pointer(&region))); err != nil {
		return fmt.Errorf("KVM_SET_USER_MEMORY_REGION: %w", err)
	}
	return nil
}

func addCPU(kvm, vm int) (*machine, error) {
	cpu, err := ioctl(vm, createVCPU, 0)
	if err != nil {
		return nil, fmt.Errorf("KVM_CREATE_VCPU: %w", err)
	}
	size, err := ioctl(kvm, getVCPUMmapSize, 0)
	if err != nil {
		return nil, fmt.Errorf("KVM_GET_VCPU_MMAP_SIZE: %w", err)
	}
	state, err := unix.Mmap(cpu, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping its state: %w", err)
	}
	return &machine{cpu: cpu, state: (*runState)(unsafe.Pointer(&state[0]))}, nil
}

// copyCPUID gives a virtual CPU all features that KVM supports.
func copyCPUID(kvm, cpu int) error {
	var features cpuid
	features.entries = uint32(len(features.entry))
	if _, err := ioctl(kvm, getSupportedCPUID, uintptr(unsafe.Pointer(&features))); err != nil {
		return fmt.Errorf("KVM_GET_SUPPORTED_CPUID: %w", err)
	}
	if _, err := ioctl(cpu, setCPUID, uintptr(unsafe.Pointer(&features))); err != nil {
		return fmt.Errorf("KVM_SET_CPUID2: %w", err)
	}
	return nil
}

func enterLongMode(cpu int) error {
	var s systemRegisters
	if _, err := ioctl(cpu, getSystemRegisters, uintptr(unsafe.Pointer(&s))); err != nil {
		return fmt.Errorf("KVM_GET_SREGS: %w", err)
	}
	const (
		protection, extensionType, paging = 1 << 0, 1 << 4, 1 << 31 // cr0
		physicalAddressExtension          = 1 << 5                  // cr4
		longModeEnable, longModeActive    = 1 << 8, 1 << 10         // efer
		readExecute, readWrite            = 11, 3                   // segment types
	)
	s.cr0 = protection | extensionType | paging
	s.cr3 = pml4At
	s.cr4 = physicalAddressExtension
	s.efer = longModeEnable | longModeActive
	s.cs = segment{limit: 0xffffffff, selector: 8, kind: readExecute, present: 1, s: 1, l: 1, g: 1}
	data := segment{limit: 0xffffffff, selector: 16, kind: readWrite, present: 1, db: 1, s: 1, g: 1}
	s.ds, s.es, s.fs, s.gs, s.ss = data, data, data, data, data
	if _, err := ioctl(cpu, setSystemRegisters, uintptr(unsafe.Pointer(&s))); err != nil {
		return fmt.Errorf("KVM_SET_SREGS: %w", err)
	}
	return nil
}

// loop times a number of instructions in the guest.
func (m *machine) loop(instructions uint64) (time.Duration, error) {
	r := registers{rip: codeAt, rcx: instructions / instructionsPerIteration, rflags: 2}
	if _, err := ioctl(m.cpu, setRegisters, uintptr(unsafe.Pointer(&r))); err != nil {
		return 0, fmt.Errorf("KVM_SET_REGS: %w", err)
	}
	start := time.Now()
	for {
		_, err := ioctl(m.cpu, runVCPU, 0)
		if errors.Is(err, unix.EINTR) { // a signal of the Go runtime
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("KVM_RUN: %w", err)
		}
		break
	}
	elapsed := time.Since(start)
	if reason := m.state.exitReason; reason != exitHalt {
		return 0, fmt.Errorf("KVM_RUN: exit reason %d instead of %d, a halt", reason, exitHalt)
	}
	return elapsed, nil
}

func ioctl(fd int, request, argument uintptr) (int, error) {
	value, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, argument)
	if errno != 0 {
		return -1, errno
	}
	return int(value), nil
}
