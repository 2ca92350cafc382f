package stolen

// The object is committed and tested as those of internal/usage/evidence/probe are.

//go:generate go tool bpf2go -target bpfel -cflags "-Wall -Werror -mcpu=v3" -no-global-types stolen bpf/stolen.bpf.c
