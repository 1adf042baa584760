package sampler

import (
	"slices"
	"sync"

	"github.com/heaptap/heaptap/internal/event"
)

// Layout is what is known of a process's memory: its modules, and the stacks of its threads. Threads come and go much
// more often than a sampler looks. Its methods may be called from any goroutine.
type Layout struct {
	mu      sync.Mutex
	modules []event.Module
	stacks  []Stack // by thread
}

// Stack is where a thread's stack begins.
type Stack struct {
	TID    uint32
	Thread uint32 // index in the recording
	Top    uint64 // address; 0: it is not known, or the thread has ended
}

// PutModule adds a module, or replaces the one with the same id.
func (l *Layout) PutModule(m event.Module) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.modules, func(o event.Module) bool { return o.ID == m.ID }); i >= 0 {
		l.modules[i] = m
		return
	}
	l.modules = append(l.modules, m)
}

// PutStack sets where a thread's stack begins.
func (l *Layout) PutStack(s Stack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := int(s.Thread) + 1 - len(l.stacks); n > 0 {
		l.stacks = append(l.stacks, make([]Stack, n)...)
	}
	l.stacks[s.Thread] = s
}

// DropStack forgets a thread's stack: the thread has ended.
func (l *Layout) DropStack(thread uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if int(thread) < len(l.stacks) {
		l.stacks[thread] = Stack{}
	}
}

// Modules returns the modules.
func (l *Layout) Modules() []event.Module {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.modules)
}

// Stacks returns the stacks of the threads that live, as far as is known: of several threads with one id, the last one
// lives.
func (l *Layout) Stacks() []Stack {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []Stack
	at := map[uint32]int{}
	for _, s := range l.stacks {
		if s.Top == 0 {
			continue
		}
		if i, ok := at[s.TID]; ok {
			list[i] = s
			continue
		}
		at[s.TID] = len(list)
		list = append(list, s)
	}
	return list
}
