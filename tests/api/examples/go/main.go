// A Go program measures what the C code that it calls allocates. Go's own heap is not malloc's.
package main

// #cgo CFLAGS: -I${SRCDIR}/../../../../include
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include <heaptap/heaptap.h>
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

func main() {
	runtime.LockOSThread() // a measure belongs to a thread
	defer runtime.UnlockOSThread()
	name := C.CString("from Go")
	defer C.free(unsafe.Pointer(name))

	C.heaptap_region_begin(name, nil, 0)
	measure := C.heaptap_measure_begin(C.HEAPTAP_THREAD)
	text := C.CString("a copy") // which is malloc's
	C.free(unsafe.Pointer(text))
	var m C.struct_heaptap_measured
	C.heaptap_measure_end(measure, &m)
	C.heaptap_region_end(name)
	fmt.Println("loaded", C.heaptap_loaded(), "allocations", m.allocations, "requested", m.requested)
}
