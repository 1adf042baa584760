package cfi

import "fmt"

// maxRemembered limits how many rules are remembered at a time. Compilers remember one or two.
const maxRemembered = 16

// row is the rule at the current instruction, as far as it matters here.
type row struct {
	register   uint64
	offset     int64
	expression bool
	outermost  bool // the return address is undefined
}

func (r row) rule() Rule { return Rule{true, r.expression, r.register, r.offset, r.outermost} }

// run executes the instructions of a common entry, then those of a function.
type run struct {
	reader
	shared     *common
	row        row
	initial    row // after the common entry
	remembered []row
	location   uint64
}

// evaluate sets the rules of the function's open addresses, of which i is the first.
func (t *table) evaluate(f *function, addrs []uint64, open *openSet, i int, rules []Rule) error {
	x := &run{shared: &t.shared, location: f.start}
	// set gives the current row to the addresses before the next one.
	set := func(before uint64) {
		for i < len(addrs) && addrs[i]-f.start < f.size && addrs[i] < before {
			rules[i] = x.row.rule()
			open.close(i)
			i = open.next(i)
		}
	}
	x.reader = reader{data: t.data[:t.shared.program.to], at: t.shared.program.from, addr: t.addr}
	if err := t.execute(x, func(uint64) bool { return false }); err != nil {
		return err
	}
	x.initial, x.remembered, x.location = x.row, nil, f.start
	x.reader = reader{data: t.data[:f.program.to], at: f.program.from, addr: t.addr}
	err := t.execute(x, func(next uint64) bool {
		set(next)
		return i < len(addrs) && addrs[i]-f.start < f.size
	})
	if err == nil {
		set(f.start + f.size)
	}
	return err
}

// execute runs instructions until the end, or until advance, which gets the address of the next row, returns false.
func (t *table) execute(x *run, advance func(next uint64) bool) error {
	for x.at < len(x.data) && !x.bad {
		if t.steps--; t.steps < 0 {
			return errTooLong
		}
		at := x.at
		next, ok := x.step()
		switch {
		case x.bad:
			return fmt.Errorf("%w: the instruction at offset %#x", errForged, at)
		case !ok:
		case next < x.location:
			return fmt.Errorf("%w: the instruction at offset %#x goes back", errForged, at)
		case !advance(next):
			return nil
		default:
			x.location = next
		}
	}
	return nil
}

// The instructions, DWARF 5 section 7.24, and those of GNU compilers.
const (
	opAdvance          = 1 // in the upper two bits, with an operand in the others
	opOffset           = 2
	opRestore          = 3
	opNop              = 0x00
	opSetLoc           = 0x01
	opAdvance1         = 0x02
	opAdvance2         = 0x03
	opAdvance4         = 0x04
	opOffsetExtended   = 0x05
	opRestoreExtended  = 0x06
	opUndefined        = 0x07
	opSameValue        = 0x08
	opRegister         = 0x09
	opRememberState    = 0x0a
	opRestoreState     = 0x0b
	opDefCFA           = 0x0c
	opDefCFARegister   = 0x0d
	opDefCFAOffset     = 0x0e
	opDefCFAExpression = 0x0f
	opExpression       = 0x10
	opOffsetExtendedSF = 0x11
	opDefCFASF         = 0x12
	opDefCFAOffsetSF   = 0x13
	opValOffset        = 0x14
	opValOffsetSF      = 0x15
	opValExpression    = 0x16
	opWindowSave       = 0x2d // on arm64: the return address is signed, or no longer
	opArgsSize         = 0x2e // for exception handlers
	opNegativeOffset   = 0x2f
)

// step executes one instruction. If that is one that begins a new row, it returns the row's address and true.
func (x *run) step() (next uint64, ok bool) {
	op := x.byte()
	switch op >> 6 {
	case opAdvance:
		return x.forward(uint64(op & 63))
	case opOffset:
		x.uleb()
		x.saved(uint64(op & 63))
		return 0, false
	case opRestore:
		x.restore(uint64(op & 63))
		return 0, false
	}
	switch op {
	case opNop, opWindowSave:
	case opSetLoc:
		return x.pointer(x.shared.encoding), true
	case opAdvance1:
		return x.forward(x.fixed(1))
	case opAdvance2:
		return x.forward(x.fixed(2))
	case opAdvance4:
		return x.forward(x.fixed(4))
	case opOffsetExtended, opRegister, opValOffset, opNegativeOffset:
		x.saved(x.uleb())
		x.uleb()
	case opOffsetExtendedSF, opValOffsetSF:
		x.saved(x.uleb())
		x.sleb()
	case opExpression, opValExpression:
		x.saved(x.uleb())
		x.skip(x.uleb())
	case opSameValue:
		x.saved(x.uleb())
	case opRestoreExtended:
		x.restore(x.uleb())
	case opUndefined:
		if x.uleb() == x.shared.returnAddress {
			x.row.outermost = true
		}
	case opRememberState:
		if len(x.remembered) == maxRemembered {
			x.bad = true
			return 0, false
		}
		x.remembered = append(x.remembered, x.row)
	case opRestoreState:
		n := len(x.remembered)
		if n == 0 {
			x.bad = true
			return 0, false
		}
		x.row, x.remembered = x.remembered[n-1], x.remembered[:n-1]
	case opDefCFA:
		x.define(x.uleb(), int64(x.uleb()))
	case opDefCFASF:
		x.define(x.uleb(), x.sleb()*x.shared.dataAlign)
	case opDefCFARegister:
		x.bad = x.bad || x.row.expression
		x.define(x.uleb(), x.row.offset)
	case opDefCFAOffset:
		x.bad = x.bad || x.row.expression
		x.row.offset = int64(x.uleb())
	case opDefCFAOffsetSF:
		x.bad = x.bad || x.row.expression
		x.row.offset = x.sleb() * x.shared.dataAlign
	case opDefCFAExpression:
		x.skip(x.uleb())
		x.row.expression, x.row.register, x.row.offset = true, 0, 0
	case opArgsSize:
		x.uleb()
	default:
		x.bad = true
	}
	return 0, false
}

func (x *run) forward(delta uint64) (next uint64, ok bool) {
	return x.location + delta*x.shared.codeAlign, true
}

func (x *run) define(register uint64, offset int64) {
	x.row.register, x.row.offset, x.row.expression = register, offset, false
}

// saved notes that a register's value can be restored.
func (x *run) saved(register uint64) {
	if register == x.shared.returnAddress {
		x.row.outermost = false
	}
}

func (x *run) restore(register uint64) {
	if register == x.shared.returnAddress {
		x.row.outermost = x.initial.outermost
	}
}
