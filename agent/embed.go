package agent

import _ "embed" // for the libraries

// Library is the agent for 64-bit x86 programs, an ELF shared object.
//
//go:embed lib/libheaptap.amd64.so
var Library []byte

// None32 is an empty shared object for 32-bit x86 programs.
//
//go:embed lib/none32.so
var None32 []byte

// Player is the program of heaptap replay, which plays a recording against an allocator (player/plan.h).
//
//go:embed lib/player.amd64
var Player []byte

// Empty is an allocator that does nothing, with which the player's own cost is measured.
//
//go:embed lib/empty.amd64.so
var Empty []byte
