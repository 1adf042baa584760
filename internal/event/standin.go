package event

// Addresses that stand for no code. They are those of PCs without a module.
const (
	SmallAddr = 1 // all allocations of fewer bytes than --stack-min says
	CutAddr   = 2 // all callers beyond the depth that --max-depth says
)

// StandIn names what a PC stands for that is none; "" for all others.
func (p PC) StandIn() string {
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
