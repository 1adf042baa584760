// SPDX-License-Identifier: Apache-2.0
//
// bpf.c: runs a seccomp filter as the kernel does. agent/test/test_bpf.c compares it with the kernel.

#include "base/bpf.h"

// A division by 0 ends the program with the result 0. Shifts use the lowest five bits of their count.
static int calculate(u32 op, u32 *a, u32 b)
{
	switch (op) {
	case BPF_ADD:
		*a += b;
		return 0;
	case BPF_SUB:
		*a -= b;
		return 0;
	case BPF_MUL:
		*a *= b;
		return 0;
	case BPF_DIV:
		if (b == 0)
			return -1;
		*a /= b;
		return 0;
	case BPF_AND:
		*a &= b;
		return 0;
	case BPF_OR:
		*a |= b;
		return 0;
	case BPF_XOR:
		*a ^= b;
		return 0;
	case BPF_LSH:
		*a <<= b & 31;
		return 0;
	case BPF_RSH:
		*a >>= b & 31;
		return 0;
	case BPF_NEG:
		*a = -*a;
		return 0;
	}
	return -1;
}

static int compare(u32 op, u32 a, u32 b)
{
	return op == BPF_JEQ ? a == b : op == BPF_JGT ? a > b : op == BPF_JGE ? a >= b : (a & b) != 0;
}

u32 ht_bpf_run(const struct sock_filter *code, u32 length, const struct seccomp_data *call)
{
	u32 a = 0, x = 0, memory[BPF_MEMWORDS] = {0};
	for (u32 at = 0; at < length; at++) { // jumps only go forward
		const struct sock_filter *i = &code[at];
		u32 operand = BPF_SRC(i->code) == BPF_X ? x : i->k, *to = &a;
		switch (BPF_CLASS(i->code)) {
		case BPF_LDX:
			to = &x;
			__attribute__((fallthrough));
		case BPF_LD:
			if (BPF_MODE(i->code) == BPF_IMM)
				*to = i->k;
			else if (BPF_MODE(i->code) == BPF_MEM && i->k < BPF_MEMWORDS)
				*to = memory[i->k];
			else if (BPF_MODE(i->code) == BPF_LEN)
				*to = sizeof(*call);
			else if (BPF_MODE(i->code) == BPF_ABS && i->k <= sizeof(*call) - 4)
				__builtin_memcpy(to, (const u8 *)call + i->k, 4);
			else
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_ST:
		case BPF_STX:
			if (i->k >= BPF_MEMWORDS)
				return SECCOMP_RET_KILL_PROCESS;
			memory[i->k] = BPF_CLASS(i->code) == BPF_ST ? a : x;
			break;
		case BPF_ALU:
			if (calculate(BPF_OP(i->code), &a, operand) < 0)
				return 0;
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) != BPF_JA)
				at += compare(BPF_OP(i->code), a, operand) ? i->jt : i->jf;
			else if (i->k < length)
				at += i->k;
			else
				return SECCOMP_RET_KILL_PROCESS;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? a : i->k;
		case BPF_MISC:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}
