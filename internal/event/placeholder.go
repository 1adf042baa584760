package event

// Addresses of PCs that are not code. Such PCs have no module.
const (
	SmallAddr = 1 // all allocations smaller than --stack-min
	CutAddr   = 2 // all callers beyond --max-depth
)

// Placeholder returns the name shown for a PC that is not code; "" for all others.
func (p PC) Placeholder() string {
	switch {
	case p.Module != 0 || p.Interrupted:
		return ""
	case p.Addr == SmallAddr:
		return "(smaller than --stack-min)"
	case p.Addr == CutAddr:
		return "(cut by --max-depth)"
	}
	return ""
}
