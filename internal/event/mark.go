package event

// Mark is a named point in time.
type Mark struct {
	Name   string
	Time   int64      // ns since the recording's start
	Cut    uint64     // number of events before it; NoCut: those up to and including its time
	Source MarkSource // who set it
	Thread uint32     // index of the thread that set it, if Source is FromProgram
}

// NoCut is the Cut of a mark that is placed by its time alone.
const NoCut = ^uint64(0)

// MarkSource says who set a mark.
type MarkSource uint8

// The sources of marks. The numbers are those of the recording.
const (
	FromProgram   MarkSource = iota // the program itself
	FromUser                        // heaptap ctl
	FromTimer                       // --mark-every
	FromSignal                      // --mark-on
	FromCondition                   // --mark-when
	FromMode                        // the recording mode changed; the mark's name is the new mode
	MarkSources
)

func (s MarkSource) String() string {
	names := [MarkSources]string{"program", "user", "timer", "signal", "condition", "mode"}
	if s < MarkSources {
		return names[s]
	}
	return "unknown"
}
