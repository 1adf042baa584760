// Package agent holds the library that runs inside the target.
//
// Its sources are the C files in src, in folders that include only those before them (TestLayers): base, spool, unwind,
// record, observe, hooks. base/base.h opens with the rules that all of them keep, and wire.h defines what agent and
// recorder share. The built libraries in lib are committed and embedded here, so that heaptap builds without a C
// compiler and is one file. `make agent` builds them anew, and `make lint` tells when they are older than their
// sources.
//
// There are two. Library is the agent. None32 does nothing: it is what 32-bit children of a target find in its place.
package agent
