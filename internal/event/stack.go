package event

// StackMeasure says what a StackUse measures.
type StackMeasure uint8

// The measures, in bytes below the top of the thread's own stack. The values are those of a recording file: append
// only.
const (
	// StackDeepest is the deepest stack pointer seen at an event so far; Stack is the call stack that was there.
	StackDeepest StackMeasure = iota
	// StackTouched reaches down to the lowest page that was resident or swapped out when the recorder looked. It
	// includes calls that never allocated.
	StackTouched
	// StackSize is the size that the stack may grow to.
	StackSize
	StackMeasures
)

var stackMeasureNames = [StackMeasures]string{"deepest", "touched", "size"}

// String names a measure.
func (m StackMeasure) String() string {
	if m < StackMeasures {
		return stackMeasureNames[m]
	}
	return "unknown"
}

// StackUse is a reading of the memory that a thread's stack uses. A measure has one entry for each time at which it was
// seen to have grown.
type StackUse struct {
	Thread  uint32 // index into the recording's threads
	Time    int64  // ns since the recording's start
	Measure StackMeasure
	Bytes   uint64
	Stack   uint32 // StackDeepest: the call stack; else 0
}
