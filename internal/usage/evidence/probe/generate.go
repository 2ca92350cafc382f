package probe

// The objects are committed, so that neither building nor running tare needs a
// compiler. To rebuild them: go generate ./internal/usage/evidence/probe, with clang
// and llvm-strip of the version in objects_test.go, and libbpf's headers. That
// test rebuilds them and compares.
//
// -mcpu=v3 needs Linux 5.1; the type of tracepoint that is used needs 5.5. The
// objects are little-endian: no big-endian machine is supported.

//go:generate go tool bpf2go -target bpfel -cflags "-Wall -Werror -mcpu=v3" -type slot -type limit count bpf/count.bpf.c
//go:generate go tool bpf2go -target bpfel -cflags "-Wall -Werror -mcpu=v3" -no-global-types -type sample sample bpf/sample.bpf.c
