package elfx

import "debug/elf"

// EachFunction calls visit with the name of every function in the symbol tables, as the tables have it and without a
// version, until visit returns false. Names may repeat.
func (f *File) EachFunction(visit func(name string) bool) error {
	return Contain(func() error {
		on := true
		for _, table := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
			f.eachSymbol(table, func(s rawSymbol, names []byte) bool {
				if f.isCode(s, names) {
					if name := symbolName(s, names); name != "" {
						on = visit(name)
					}
				}
				return on
			})
			if !on {
				break
			}
		}
		return nil
	})
}
