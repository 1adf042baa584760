package elfx
import ("testing")
func TestX(t *testing.T){ for _,p:=range []string{"/bin/ls","/lib64/ld-linux-x86-64.so.2","/usr/local/go/bin/go","/etc/passwd","/usr/bin/ldd","/usr/bin/python3","/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus"} { i,e:=Inspect(p); t.Logf("%s %+v %v",p,i,e)}}
