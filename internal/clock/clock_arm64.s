#include "textflag.h"

// func counter() uint64
TEXT ·counter(SB), NOSPLIT, $0-8
	ISB $15
	MRS CNTVCT_EL0, R0
	ISB $15
	MOVD R0, ret+0(FP)
	RET

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	DMB $9 // ISHLD
	RET
