package ledger
import ("testing";"os";"strings";"fmt";"syscall";"math/rand/v2";"time")
func rss() string { b,_:=os.ReadFile("/proc/self/status"); var o string; for l := range strings.Lines(string(b)) { if strings.HasPrefix(l,"VmRSS")||strings.HasPrefix(l,"VmHWM") { o+=strings.Join(strings.Fields(l)," ")+" " } }; return o }
func cpu() time.Duration { var r syscall.Rusage; syscall.Getrusage(0,&r); return time.Duration(r.Utime.Nano()+r.Stime.Nano()) }
func TestProbe(t *testing.T) {
	l := New(false)
	const N = 8_000_000
	op := Op{Kind: OpAlloc, Size: 40}
	c0 := cpu(); worst:=0
	for k := range uint64(N) { op.Addr = 0x7f0000000000+k*48; l.Add(&op, ignore) }
	fmt.Println("fill ns/op cpu", (cpu()-c0).Nanoseconds()/N, rss(), "bytes/block*N MB", N*96>>20, worst)
	rng := rand.New(rand.NewPCG(1,2)); picks := make([]uint32, 1<<20); for i := range picks { picks[i]=uint32(rng.Uint64N(N)) }
	free := Op{Kind: OpFree}
	for _, ahead := range []int{0,8,16,32} {
	c0 = cpu()
	const R=3_000_000
	for n := range R { if ahead>0 { l.Touch(0x7f0000000000+uint64(picks[(n+ahead)&(1<<20-1)])*48) }
		a := 0x7f0000000000+uint64(picks[n&(1<<20-1)])*48
		free.Addr=a; l.Add(&free, ignore); op.Addr=a; l.Add(&op, ignore) }
	fmt.Println("ahead", ahead, "random ns/op cpu", (cpu()-c0).Nanoseconds()/R/2)
	}
}
