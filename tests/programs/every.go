package programs

import "github.com/heaptap/heaptap/internal/event"

// Site is what must be recorded of a function of src/every.cc.
type Site struct {
	Name  string
	Size  uint64
	Alloc event.Func // FuncUnknown: nothing
	Free  event.Func
	Count uint64 // first argument of calloc and reallocarray, if the agent must record it
	Align uint64
	Fails bool
}

// Sites lists all sites, in the order in which they run. After each allocation and each deallocation comes a malloc and
// a free of AfterSize bytes.
var Sites = []Site{
	{Name: "site_malloc", Size: 1001, Alloc: event.Malloc, Free: event.FreeFunc},
	{Name: "site_calloc", Size: 1002, Alloc: event.Calloc, Free: event.FreeFunc, Count: 2},
	{Name: "site_calloc_one", Size: 1003, Alloc: event.Calloc, Free: event.FreeFunc},
	{Name: "site_realloc_null", Size: 1004, Alloc: event.ReallocFunc, Free: event.FreeFunc},
	{Name: "site_reallocarray_null", Size: 1005, Alloc: event.Reallocarray, Free: event.FreeFunc, Count: 5},
	{Name: "site_posix_memalign", Size: 1006, Alloc: event.PosixMemalign, Free: event.FreeFunc, Align: 256},
	{Name: "site_aligned_alloc", Size: 1024, Alloc: event.AlignedAlloc, Free: event.FreeFunc, Align: 64},
	{Name: "site_memalign", Size: 1008, Alloc: event.Memalign, Free: event.FreeFunc, Align: 128},
	{Name: "site_valloc", Size: 1009, Alloc: event.Valloc, Free: event.FreeFunc, Align: 4096},
	{Name: "site_pvalloc", Size: 1010, Alloc: event.Pvalloc, Free: event.FreeFunc, Align: 4096},
	{Name: "site_free_sized", Size: 1011, Alloc: event.Malloc, Free: event.FreeSized},
	{Name: "site_free_aligned_sized", Size: 1056, Alloc: event.AlignedAlloc, Free: event.FreeAlignedSized, Align: 32},
	{Name: "site_cfree", Size: 1013, Alloc: event.Malloc, Free: event.Cfree},
	{Name: "site_new", Size: 1014, Alloc: event.New, Free: event.Delete},
	{Name: "site_new_array", Size: 1015, Alloc: event.NewArray, Free: event.DeleteArray},
	{Name: "site_new_nothrow", Size: 1016, Alloc: event.NewNothrow, Free: event.DeleteNothrow},
	{Name: "site_new_array_nothrow", Size: 1017, Alloc: event.NewArrayNothrow, Free: event.DeleteArrayNothrow},
	{Name: "site_new_sized", Size: 1018, Alloc: event.New, Free: event.DeleteSized},
	{Name: "site_new_array_sized", Size: 1019, Alloc: event.NewArray, Free: event.DeleteArraySized},
	{Name: "site_new_aligned", Size: 1020, Alloc: event.NewAligned, Free: event.DeleteAligned, Align: 64},
	{Name: "site_new_array_aligned", Size: 1021, Alloc: event.NewArrayAligned, Free: event.DeleteArrayAligned,
		Align: 64},
	{Name: "site_new_aligned_nothrow", Size: 1022, Alloc: event.NewAlignedNothrow, Free: event.DeleteAlignedNothrow,
		Align: 64},
	{Name: "site_new_array_aligned_nothrow", Size: 1023, Alloc: event.NewArrayAlignedNothrow,
		Free: event.DeleteArrayAlignedNothrow, Align: 64},
	{Name: "site_new_sized_aligned", Size: 1025, Alloc: event.NewAligned, Free: event.DeleteSizedAligned, Align: 64},
	{Name: "site_new_array_sized_aligned", Size: 1026, Alloc: event.NewArrayAligned,
		Free: event.DeleteArraySizedAligned, Align: 64},
	{Name: "site_new_zero", Size: 0, Alloc: event.New, Free: event.Delete},
	{Name: "site_malloc_zero", Size: 0, Alloc: event.Malloc, Free: event.FreeFunc},
	{Name: "site_free_null"},
	{Name: "site_delete_null"},
	{Name: "site_malloc_fails", Alloc: event.Malloc, Fails: true},
	{Name: "site_calloc_fails", Alloc: event.Calloc, Fails: true},
	{Name: "site_memalign_fails", Alloc: event.Memalign, Fails: true},
	{Name: "site_posix_memalign_fails", Alloc: event.PosixMemalign, Fails: true},
	{Name: "site_reallocarray_fails", Alloc: event.Reallocarray, Fails: true},
	{Name: "site_new_nothrow_fails", Alloc: event.NewNothrow, Fails: true},
	{Name: "site_new_array_nothrow_fails", Alloc: event.NewArrayNothrow, Fails: true},
}

// AfterSize is the size of the blocks that prove that the agent still records.
const AfterSize = 7
