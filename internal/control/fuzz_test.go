package control

import (
	"bytes"
	"net"
	"reflect"
	"testing"
)

// FuzzRequest: whatever is sent to the socket, it is understood as one request, which survives the way there, or gets
// an answer that says why not; the next caller is served.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"Verb":"mark","Text":"a\nb","Spool":"x.spool","PID":7}` + "\n"))
	f.Add([]byte("{\"Verb\":7}\n"))
	f.Add([]byte("null\n{}"))
	f.Add([]byte{0, 0xff, '\n'})
	dir := f.TempDir()
	asked := make(chan Request, 1)
	s, err := Listen(dir, func(q Request) Reply {
		asked <- q
		return Reply{}
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, line []byte) {
		var reply Reply
		if err := reach(dir, func(path string) error {
			conn, err := net.Dial("unix", path)
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := conn.Write(append(line, '\n')); err != nil {
				return err
			}
			return receive(conn, &reply)
		}); err != nil {
			t.Fatal(err)
		}
		if reply.Error == "" {
			q, again := <-asked, Request{}
			var b bytes.Buffer
			if err := send(&b, q); err != nil {
				t.Fatal(err)
			}
			if err := receive(&b, &again); err != nil || !reflect.DeepEqual(q, again) {
				t.Errorf("%+v became %+v, %v", q, again, err)
			}
		}
		if _, err := Call(dir, Request{Verb: Status}); err != nil {
			t.Errorf("the next one: %v", err)
		}
		<-asked
	})
}
