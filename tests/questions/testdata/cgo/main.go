// Pictures keeps pictures in C's memory, and what it knows of them in Go's heap.
package main

/*
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void *picture(size_t size)
{
	return memset(malloc(size), 1, size);
}
*/
import "C"

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"unsafe"
)

type store struct {
	pictures []unsafe.Pointer
	notes    [][]byte
}

func (s *store) add() {
	s.pictures = append(s.pictures, C.picture(20_000))
	note := make([]byte, 30_000)
	for i := range note {
		note[i] = 1
	}
	s.notes = append(s.notes, note)
}

func main() {
	var s store
	for range 1000 {
		s.add()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println("heap", m.HeapInuse)
	if len(os.Args) > 1 {
		C.malloc_stats()
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	fmt.Println(len(s.pictures), len(s.notes))
}
