package event

// DataKind is the kind of section that a static variable lies in, by how the loader treats it.
type DataKind uint8

// The kinds. The values are those of a recording file: append only. Sections with other names (.data.rel.ro, .lbss)
// have the kind that the loader treats them as.
const (
	Data        DataKind = iota // writable, with initial values in the file
	BSS                         // writable, zero at first
	ROData                      // constants
	TData                       // one for each thread, with initial values
	TBSS                        // one for each thread, zero at first
	OtherData                   // none of these
	DataKindEnd                 // how many there are
)

var dataKindNames = [DataKindEnd]string{".data", ".bss", ".rodata", ".tdata", ".tbss", "other"}

// String returns the usual name of such a section.
func (k DataKind) String() string {
	if k < DataKindEnd {
		return dataKindNames[k]
	}
	return dataKindNames[OtherData]
}

// PerThread says whether each thread has a copy of its own.
func (k DataKind) PerThread() bool { return k == TData || k == TBSS }

// Variable is a static or thread-local variable of a module.
type Variable struct {
	Module  uint32 // Module.ID of the first loading of the file
	Kind    DataKind
	Addr    uint64 // in the module's file; thread-local: offset in the module's thread-local block
	Size    uint64 // bytes; thread-local: in each thread
	Name    string // demangled
	Linkage string // the name in the symbol table, if it differs
	File    string // where it is declared, as the debug information names it; "" if unknown
	Line    uint32 // 0: unknown
}

// DataSection is a section of a module that holds static data.
type DataSection struct {
	Module    uint32 // Module.ID of the first loading of the file
	Kind      DataKind
	Start     uint64 // addresses as in Variable
	End       uint64
	Variables uint64 // how many variables the symbol table names in it
	Named     uint64 // their bytes
}

// Residency is which pages of a module's writable segments were in memory at one moment.
type Residency struct {
	Module   uint32 // Module.ID
	Time     int64  // ns since the recording's start
	PageSize uint64
	Looked   []AddrRange // addresses in the process that were inspected, ascending
	Resident []AddrRange // resident pages among them, as ascending runs
}

// AddrRange is a range of addresses; End is excluded.
type AddrRange struct{ Start, End uint64 }
